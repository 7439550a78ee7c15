/* SPDX-License-Identifier: MIT */
/* The driver's calls on streams. */
#include "fake.h"

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  CUresult code = fake_enter(FAKE_cuStreamCreate);
  CUcontext ctx;

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  if ((flags & ~(unsigned)FAKECUDA_STREAM_NON_BLOCKING) != 0)
    return fake_leave(CLPI_CUDA_INVALID_VALUE);
  ctx = fake_current_locked("cuStreamCreate");
  if (ctx == NULL)
    return fake_leave(CLPI_CUDA_INVALID_CONTEXT);
  *stream = fake_stream_new_locked(ctx, FAKE_CREATED, flags == FAKECUDA_STREAM_DEFAULT);
  return fake_leave(*stream != NULL ? CLPI_CUDA_SUCCESS : CLPI_CUDA_OUT_OF_MEMORY);
}

CUresult cuStreamDestroy(CUstream handle)
{
  CUresult code = fake_enter(FAKE_cuStreamDestroy);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_stream_locked(handle, &code) : NULL;

  if (stream != NULL && stream->kind != FAKE_CREATED)
    code = fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "a default stream is destroyed");
  if (code == CLPI_CUDA_SUCCESS)
    fake_stream_end_locked(stream);
  return fake_leave(code);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
  CUresult code = fake_enter(FAKE_cuStreamGetCtx);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_stream_locked(handle, &code) : NULL;

  if (stream != NULL)
    *ctx = stream->ctx;
  return fake_leave(code);
}

/* The legacy stream is done when what it would wait for is. */
static CUresult begin_locked(CUresult code, CUstream handle, CUstream *stream)
{
  if (code == CLPI_CUDA_SUCCESS)
    *stream = fake_stream_locked(handle, &code);
  if (code == CLPI_CUDA_SUCCESS && (*stream)->kind == FAKE_LEGACY)
    fake_begin_locked(*stream);
  return code;
}

CUresult cuStreamQuery(CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin_locked(fake_enter(FAKE_cuStreamQuery), handle, &stream);

  if (code == CLPI_CUDA_SUCCESS && stream->done < stream->given)
    code = CLPI_CUDA_NOT_READY;
  if (code == CLPI_CUDA_SUCCESS)
    fake_observe_locked(&stream->clock);
  return fake_leave(code);
}

CUresult cuStreamSynchronize(CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin_locked(fake_enter(FAKE_cuStreamSynchronize), handle, &stream);

  if (code == CLPI_CUDA_SUCCESS) {
    fake_clock clock = stream->clock;

    fake_reach_locked((fake_point){stream, stream->given});
    fake_synchronized_locked(&clock);
  }
  return fake_leave(code);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user_data)
{
  CUresult code = fake_enter(FAKE_cuLaunchHostFunc);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(handle, &code) : NULL;

  if (code == CLPI_CUDA_SUCCESS && function == NULL)
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS) {
    fake_command command = {.host_function = function, .user_data = user_data};

    fake_begin_locked(stream);
    command.known = fake_new(sizeof(*command.known));
    *command.known = stream->clock;
    (void)fake_give_locked(stream, &command);
  }
  return fake_leave(code);
}
