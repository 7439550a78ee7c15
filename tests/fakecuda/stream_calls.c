/* SPDX-License-Identifier: MIT */
/* The driver's calls on streams. */
#include "fake.h"

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  FAKE_ENTER(cuStreamCreate);
  CUcontext ctx = fake_current_locked();
  if (flags & ~(unsigned)FAKECUDA_STREAM_NON_BLOCKING)
    return CLPI_CUDA_INVALID_VALUE;
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT;
  *stream = fake_stream_new_locked(ctx, FAKE_CREATED, flags == FAKECUDA_STREAM_DEFAULT);
  return *stream ? CLPI_CUDA_SUCCESS : CLPI_CUDA_OUT_OF_MEMORY;
}

CUresult cuStreamDestroy(CUstream handle)
{
  FAKE_ENTER(cuStreamDestroy);
  CUstream stream = fake_stream_locked(handle, &code);
  if (stream && stream->kind != FAKE_CREATED)
    return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "a default stream is destroyed");
  if (stream)
    fake_stream_end_locked(stream);
  return code;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
  FAKE_ENTER(cuStreamGetCtx);
  CUstream stream = fake_stream_locked(handle, &code);
  if (stream)
    *ctx = stream->ctx;
  return code;
}

/* The legacy stream is done when what it would wait for is. */
static CUstream find_locked(CUstream handle, CUresult *code)
{
  CUstream stream = fake_stream_locked(handle, code);
  if (stream && stream->kind == FAKE_LEGACY)
    fake_begin_locked(stream);
  return stream;
}

CUresult cuStreamQuery(CUstream handle)
{
  FAKE_ENTER(cuStreamQuery);
  CUstream stream = find_locked(handle, &code);
  if (code)
    return code;
  if (stream->done < stream->given)
    return CLPI_CUDA_NOT_READY;
  fake_clock_join(&fake_observed, &stream->clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle)
{
  FAKE_ENTER(cuStreamSynchronize);
  CUstream stream = find_locked(handle, &code);
  if (code)
    return code;
  fake_clock clock = stream->clock;
  fake_reach_locked((fake_point){stream, stream->given});
  fake_synchronized_locked(&clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user_data)
{
  FAKE_ENTER(cuLaunchHostFunc);
  CUstream stream = fake_uncaptured_locked(handle, &code);
  if (code)
    return code;
  fake_begin_locked(stream);
  fake_command command = {.host_function = function, .user_data = user_data};
  command.known = fake_new(sizeof(*command.known));
  *command.known = stream->clock;
  (void)fake_give_locked(stream, &command);
  return CLPI_CUDA_SUCCESS;
}
