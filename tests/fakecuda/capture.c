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

CUresult fake_end_captures_locked(const struct CUctx_st *ctx)
{
  CUresult code = CLPI_CUDA_SUCCESS;
  fake_each_stream (it) {
    if (ctx ? is_captured(it) && it->ctx == ctx : forbids(it)) {
      it->capture.status = FAKECUDA_CAPTURE_INVALIDATED;
      code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return code;
}

/* Whether the stream is the legacy one, and waits for one that is captured. */
static bool waits_for_captured(const struct CUstream_st *stream)
{
  fake_each_stream (it) {
    if (is_captured(it) && it->blocking && stream == it->ctx->legacy)
      return true;
  }
  return false;
}

CUresult fake_uncaptured_locked(CUstream *handle)
{
  CUresult code = fake_stream_locked(handle);
  if (code || (!is_captured(*handle) && !waits_for_captured(*handle)))
    return code;
  return fake_violation_locked(CLPI_CUDA_STREAM_CAPTURE_IMPLICIT,
                               "a stream is used that is being captured, or waits for one");
}

CUresult cuThreadExchangeStreamCaptureMode(clpi_cuda_capture_mode *mode)
{
  FAKE_ENTER(cuThreadExchangeStreamCaptureMode);
  clpi_cuda_capture_mode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, clpi_cuda_capture_status *status)
{
  FAKE_ENTER(cuStreamIsCapturing);
  FAKE_TRY(fake_stream_locked(&stream));
  if (waits_for_captured(stream))
    return CLPI_CUDA_STREAM_CAPTURE_IMPLICIT;
  *status = fakecuda_planted == FAKECUDA_CAPTURES_ARE_NOT_TOLD ? 0 : stream->capture.status;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, clpi_cuda_capture_mode mode)
{
  FAKE_ENTER(cuStreamBeginCapture);
  FAKE_TRY(fake_stream_locked(&stream));
  if (is_captured(stream) || stream == stream->ctx->legacy)
    return CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
  stream->capture = (fake_capture){FAKECUDA_CAPTURE_ACTIVE, mode, pthread_self()};
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
  FAKE_ENTER(cuStreamEndCapture);
  FAKE_TRY(fake_stream_locked(&stream));
  bool is_valid = stream->capture.status == FAKECUDA_CAPTURE_ACTIVE;
  stream->capture.status = CLPI_CUDA_CAPTURE_NONE;
  *graph = is_valid ? fake_new(sizeof(**graph)) : NULL;
  return is_valid ? CLPI_CUDA_SUCCESS : FAKECUDA_STREAM_CAPTURE_INVALIDATED;
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
