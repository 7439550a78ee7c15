/* SPDX-License-Identifier: MIT */
/* Stream capture, as far as callers notice it who capture nothing: what a captured stream is given
 * is lost, and graphs are empty. */
#include "fake.h"

#include <stdlib.h>

struct CUgraph_st {
  int unused;
};

static _Thread_local clpi_cuda_capture_mode thread_mode = FAKECUDA_CAPTURE_GLOBAL;

static bool is_captured(const struct CUstream_st *stream)
{
  return stream->state == FAKE_LIVE && stream->capture.status != CLPI_CUDA_CAPTURE_NONE;
}

/* As cuThreadExchangeStreamCaptureMode is documented. */
static bool forbids(const struct CUstream_st *stream)
{
  if (!is_captured(stream) || thread_mode == CLPI_CUDA_CAPTURE_RELAXED)
    return false;
  if (pthread_equal(stream->capture.thread, pthread_self()))
    return stream->capture.mode != CLPI_CUDA_CAPTURE_RELAXED;
  return thread_mode == FAKECUDA_CAPTURE_GLOBAL && stream->capture.mode == FAKECUDA_CAPTURE_GLOBAL;
}

/* Invalidates the captures that forbid the call; `ctx`: all that it has, whatever the thread's mode
 * is, as the captured streams are among what is waited for. */
static CUresult invalidate_locked(const struct CUctx_st *ctx)
{
  CUresult code = CLPI_CUDA_SUCCESS;
  for (CUstream it = fake_streams; it < fake_streams + FAKE_MOST_STREAMS; it++)
    if (ctx ? is_captured(it) && it->ctx == ctx : forbids(it)) {
      it->capture.status = FAKECUDA_CAPTURE_INVALIDATED;
      code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    }
  return code;
}

CUresult fake_unsafe_locked(void)
{
  return fake_defect == FAKECUDA_CAPTURES_FORBID_NOTHING ? 0 : invalidate_locked(NULL);
}

CUresult fake_capture_of_context_locked(const struct CUctx_st *ctx)
{
  return invalidate_locked(ctx);
}

/* Whether the stream is the legacy one, and waits for one that is captured. */
static bool waits_for_captured(const struct CUstream_st *legacy)
{
  for (CUstream it = fake_streams; it < fake_streams + FAKE_MOST_STREAMS; it++)
    if (is_captured(it) && it->blocking && it->ctx == legacy->ctx)
      return legacy->kind == FAKE_LEGACY;
  return false;
}

CUstream fake_uncaptured_locked(CUstream handle, CUresult *code)
{
  CUstream stream = fake_stream_locked(handle, code);
  if (!stream || (!is_captured(stream) && !waits_for_captured(stream)))
    return stream;
  *code = fake_violation_locked(CLPI_CUDA_STREAM_CAPTURE_IMPLICIT,
                                "a stream is used that is being captured, or waits for one");
  return NULL;
}

CUresult cuThreadExchangeStreamCaptureMode(clpi_cuda_capture_mode *mode)
{
  FAKE_ENTER(cuThreadExchangeStreamCaptureMode);
  clpi_cuda_capture_mode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, clpi_cuda_capture_status *status)
{
  FAKE_ENTER(cuStreamIsCapturing);
  CUstream stream = fake_stream_locked(handle, &code);
  if (!stream)
    return code;
  if (waits_for_captured(stream))
    return CLPI_CUDA_STREAM_CAPTURE_IMPLICIT;
  *status = fake_defect == FAKECUDA_CAPTURES_ARE_NOT_TOLD ? 0 : stream->capture.status;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream handle, clpi_cuda_capture_mode mode)
{
  FAKE_ENTER(cuStreamBeginCapture);
  CUstream stream = fake_stream_locked(handle, &code);
  if (!stream)
    return code;
  if (is_captured(stream) || stream->kind == FAKE_LEGACY)
    return CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
  stream->capture = (fake_capture){FAKECUDA_CAPTURE_ACTIVE, mode, pthread_self()};
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
  FAKE_ENTER(cuStreamEndCapture);
  CUstream stream = fake_stream_locked(handle, &code);
  *graph = NULL;
  if (!stream)
    return code;
  bool is_valid = stream->capture.status == FAKECUDA_CAPTURE_ACTIVE;
  stream->capture.status = CLPI_CUDA_CAPTURE_NONE;
  if (!is_valid)
    return FAKECUDA_STREAM_CAPTURE_INVALIDATED;
  *graph = fake_new(sizeof(**graph));
  return CLPI_CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
  FAKE_ENTER(cuGraphDestroy);
  free(graph);
  return CLPI_CUDA_SUCCESS;
}

void fake_capture_reset_locked(void)
{
  if (thread_mode != FAKECUDA_CAPTURE_GLOBAL)
    (void)fake_violation_locked(0, "the thread's capture mode was not restored");
  thread_mode = FAKECUDA_CAPTURE_GLOBAL;
}
