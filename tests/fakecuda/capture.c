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

static bool is_own(const struct CUstream_st *stream)
{
  return pthread_equal(stream->capture.thread, pthread_self()) != 0;
}

/* As cuThreadExchangeStreamCaptureMode is documented. */
static bool forbids(const struct CUstream_st *stream)
{
  if (!is_captured(stream) || thread_mode == CLPI_CUDA_CAPTURE_RELAXED)
    return false;
  if (is_own(stream))
    return stream->capture.mode != CLPI_CUDA_CAPTURE_RELAXED;
  return thread_mode == FAKECUDA_CAPTURE_GLOBAL && stream->capture.mode == FAKECUDA_CAPTURE_GLOBAL;
}

CUresult fake_unsafe_locked(void)
{
  CUresult code = CLPI_CUDA_SUCCESS;

  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (forbids(stream)) {
      stream->capture.status = FAKECUDA_CAPTURE_INVALIDATED;
      code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    }
  return code;
}

/* Whatever the thread's mode is: the captured streams are among what is waited for. */
CUresult fake_capture_of_context_locked(const struct CUctx_st *ctx)
{
  CUresult code = CLPI_CUDA_SUCCESS;

  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (is_captured(stream) && stream->ctx == ctx) {
      stream->capture.status = FAKECUDA_CAPTURE_INVALIDATED;
      code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    }
  return code;
}

/* Whether the stream is the legacy one, and waits for one that is captured. */
static bool waits_for_captured(const struct CUstream_st *legacy)
{
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (is_captured(stream) && stream->blocking && stream->ctx == legacy->ctx)
      return legacy->kind == FAKE_LEGACY;
  return false;
}

CUstream fake_uncaptured_locked(CUstream handle, CUresult *code)
{
  CUstream stream = fake_stream_locked(handle, code);

  if (stream == NULL || (!is_captured(stream) && !waits_for_captured(stream)))
    return stream;
  *code = fake_violation_locked(CLPI_CUDA_STREAM_CAPTURE_IMPLICIT,
                                "a stream is used that is being captured, or waits for one");
  return NULL;
}

CUresult cuThreadExchangeStreamCaptureMode(clpi_cuda_capture_mode *mode)
{
  CUresult code = fake_enter(FAKE_cuThreadExchangeStreamCaptureMode);
  clpi_cuda_capture_mode before = thread_mode;

  if (code == CLPI_CUDA_SUCCESS) {
    thread_mode = *mode;
    *mode = before;
  }
  return fake_leave(code);
}

CUresult cuStreamIsCapturing(CUstream handle, clpi_cuda_capture_status *status)
{
  CUresult code = fake_enter(FAKE_cuStreamIsCapturing);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_stream_locked(handle, &code) : NULL;

  if (stream != NULL && waits_for_captured(stream))
    code = CLPI_CUDA_STREAM_CAPTURE_IMPLICIT;
  else if (stream != NULL)
    *status = stream->capture.status;
  return fake_leave(code);
}

CUresult cuStreamBeginCapture(CUstream handle, clpi_cuda_capture_mode mode)
{
  CUresult code = fake_enter(FAKE_cuStreamBeginCapture);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_stream_locked(handle, &code) : NULL;

  if (stream != NULL && (is_captured(stream) || stream->kind == FAKE_LEGACY))
    code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
  if (code == CLPI_CUDA_SUCCESS)
    stream->capture = (fake_capture){FAKECUDA_CAPTURE_ACTIVE, mode, pthread_self()};
  return fake_leave(code);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
  CUresult code = fake_enter(FAKE_cuStreamEndCapture);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_stream_locked(handle, &code) : NULL;

  *graph = NULL;
  if (stream != NULL && stream->capture.status != FAKECUDA_CAPTURE_ACTIVE)
    code = FAKECUDA_STREAM_CAPTURE_INVALIDATED;
  if (stream != NULL)
    stream->capture.status = CLPI_CUDA_CAPTURE_NONE;
  if (code == CLPI_CUDA_SUCCESS)
    *graph = fake_new(sizeof(**graph));
  return fake_leave(code);
}

CUresult cuGraphDestroy(CUgraph graph)
{
  CUresult code = fake_enter(FAKE_cuGraphDestroy);

  if (code == CLPI_CUDA_SUCCESS)
    free(graph);
  return fake_leave(code);
}

void fake_capture_check_locked(void)
{
  if (thread_mode != FAKECUDA_CAPTURE_GLOBAL)
    (void)fake_violation_locked(0, "the thread's capture mode was not restored");
  thread_mode = FAKECUDA_CAPTURE_GLOBAL;
}
