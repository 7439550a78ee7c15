/* SPDX-License-Identifier: MIT */
/* The driver's calls that allocate, free, fill and copy memory. */
#include "fake.h"

#include <string.h>

/* --- in stream order --- */

static CUresult allocate_locked(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                CUstream stream)
{
  if (bytes == 0 || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  fake_begin_locked(stream);
  return fake_mempool_take_locked(mempool, bytes, stream, pointer);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool handle,
                                 CUstream stream_handle)
{
  CUresult code = fake_enter(FAKE_cuMemAllocFromPoolAsync);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(stream_handle, &code) : NULL;
  CUmemoryPool mempool = stream != NULL ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS && mempool == NULL)
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    code = allocate_locked(pointer, bytes, mempool, stream);
  return fake_leave(code);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle)
{
  fake_device *device = NULL;
  CUresult code = fake_enter(FAKE_cuMemAllocAsync);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(handle, &code) : NULL;

  if (stream != NULL)
    code = fake_default_mempool_locked(stream->ctx->device, &device);
  if (code == CLPI_CUDA_SUCCESS)
    code = allocate_locked(pointer, bytes, device->mempool, stream);
  return fake_leave(code);
}

/* The allocation that begins there. */
static CUresult find_locked(CUdeviceptr pointer, fake_segment **segment, fake_range **range)
{
  if (!fake_find_locked(pointer, segment, range))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "what is no device memory is freed");
  if ((*range)->state != FAKE_IN_USE)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "memory is freed that is free");
  if (fake_address(*segment, *range) != pointer)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "memory is freed by another address than it was allocated");
  return CLPI_CUDA_SUCCESS;
}

static void give_back_locked(fake_segment *segment, fake_range *range, fake_range_state state,
                             fake_point point)
{
  if (segment->mempool != NULL && !segment->imported)
    segment->mempool->used -= range->bytes;
  fake_range_free(range, state, point);
}

static CUresult free_on_locked(CUdeviceptr pointer, CUstream stream)
{
  fake_segment *segment;
  fake_range *range;
  CUresult code = find_locked(pointer, &segment, &range);

  if (code != CLPI_CUDA_SUCCESS)
    return code;
  if (segment->mempool == NULL)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "memory of cuMemAlloc is freed in stream order");
  fake_begin_locked(stream);
  if (!fake_clock_has(&stream->clock, range->point))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "memory is freed on a stream that is not ordered after its "
                                 "allocation");
  if (!fake_uses_precede_locked(range, &stream->clock, "memory is freed"))
    return CLPI_CUDA_INVALID_VALUE;
  give_back_locked(segment, range, FAKE_FREED,
                   (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})});
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle)
{
  CUresult code = fake_enter(FAKE_cuMemFreeAsync);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(handle, &code) : NULL;

  if (stream != NULL)
    code = free_on_locked(pointer, stream);
  return fake_leave(code);
}

/* --- at once --- */

static CUresult enter_with_context(fake_call call, CUcontext *ctx)
{
  CUresult code = fake_enter(call);

  if (code != CLPI_CUDA_SUCCESS)
    return code;
  *ctx = fake_current_locked(fake_functions[call].name);
  return *ctx != NULL ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_CONTEXT;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  CUcontext ctx = NULL;
  CUresult code = enter_with_context(FAKE_cuMemAlloc, &ctx);
  fake_segment *segment;
  size_t pages;

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  if (bytes == 0)
    return fake_leave(CLPI_CUDA_INVALID_VALUE);
  pages = (bytes + FAKE_ALIGNMENT - 1) / FAKE_ALIGNMENT * FAKE_ALIGNMENT;
  segment = fake_segment_new_locked(NULL, ctx->device, pages < bytes ? bytes : pages);
  if (segment == NULL)
    return fake_leave(CLPI_CUDA_OUT_OF_MEMORY);
  fake_range_take(segment->ranges, segment->bytes, bytes, (fake_point){.stream = NULL});
  *pointer = fake_address(segment, segment->ranges);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

/* Memory of cuMemAlloc, whose free waits for the device's work. */
static CUresult free_directly_locked(CUcontext ctx, CUdeviceptr pointer)
{
  fake_segment *segment;
  fake_range *range;
  CUresult code;

  fake_reach_all_locked(ctx);
  code = find_locked(pointer, &segment, &range); /* again: the lock was open meanwhile */
  if (code == CLPI_CUDA_SUCCESS && !fake_uses_precede_locked(range, &fake_observed, "cuMemFree"))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    fake_segment_delete_locked(segment);
  return code;
}

/* Memory of a pool, whose free waits for nothing: the caller has. */
static CUresult free_of_mempool_locked(fake_segment *segment, fake_range *range)
{
  if (!fake_clock_has(&fake_observed, range->point))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "cuMemFree before the allocation is done");
  if (!fake_uses_precede_locked(range, &fake_observed, "cuMemFree"))
    return CLPI_CUDA_INVALID_VALUE;
  give_back_locked(segment, range, FAKE_FREE, (fake_point){.stream = NULL});
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  CUcontext ctx = NULL;
  CUresult code = enter_with_context(FAKE_cuMemFree, &ctx);
  fake_segment *segment;
  fake_range *range;

  if (code == CLPI_CUDA_SUCCESS && pointer == 0)
    return fake_leave(CLPI_CUDA_SUCCESS);
  if (code == CLPI_CUDA_SUCCESS)
    code = find_locked(pointer, &segment, &range);
  if (code == CLPI_CUDA_SUCCESS)
    code = segment->mempool == NULL ? free_directly_locked(ctx, pointer)
                                    : free_of_mempool_locked(segment, range);
  return fake_leave(code);
}

/* --- filling and copying --- */

static void fill_locked(fake_command *command)
{
  memset(command->to, command->byte, command->bytes);
}

static void copy_locked(fake_command *command)
{
  memmove(command->to, command->from, command->bytes);
}

/* The stream that shall work on memory, ready for its next command. */
static CUresult begin(fake_call call, CUstream handle, CUstream *stream)
{
  CUcontext ctx = NULL;
  CUresult code = enter_with_context(call, &ctx);

  if (code == CLPI_CUDA_SUCCESS)
    *stream = fake_uncaptured_locked(handle, &code);
  if (code == CLPI_CUDA_SUCCESS)
    fake_begin_locked(*stream);
  return code;
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char byte, size_t count, CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin(FAKE_cuMemsetD8Async, handle, &stream);
  fake_command command = {.run_locked = fill_locked, .byte = byte, .bytes = count};

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  command.to = fake_use_locked(stream, pointer, count, true);
  if (command.to == NULL)
    return fake_leave(FAKECUDA_ILLEGAL_ADDRESS);
  (void)fake_give_locked(stream, &command);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

/* Pageable memory is read before the call returns, as by the driver. */
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin(FAKE_cuMemcpyHtoDAsync, handle, &stream);
  fake_command command = {.run_locked = copy_locked, .bytes = bytes};

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  command.to = fake_use_locked(stream, to, bytes, true);
  if (command.to == NULL)
    return fake_leave(FAKECUDA_ILLEGAL_ADDRESS);
  command.staged = fake_new(bytes);
  memcpy(command.staged, from, bytes);
  command.from = command.staged;
  (void)fake_give_locked(stream, &command);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin(FAKE_cuMemcpyDtoHAsync, handle, &stream);
  fake_command command = {.run_locked = copy_locked, .to = to, .bytes = bytes};

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  command.from = fake_use_locked(stream, from, bytes, false);
  if (command.from == NULL)
    return fake_leave(FAKECUDA_ILLEGAL_ADDRESS);
  (void)fake_give_locked(stream, &command);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle)
{
  CUstream stream = NULL;
  CUresult code = begin(FAKE_cuMemcpyDtoDAsync, handle, &stream);
  fake_command command = {.run_locked = copy_locked, .bytes = bytes};

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  command.from = fake_use_locked(stream, from, bytes, false);
  command.to = command.from != NULL ? fake_use_locked(stream, to, bytes, true) : NULL;
  if (command.to == NULL)
    return fake_leave(FAKECUDA_ILLEGAL_ADDRESS);
  (void)fake_give_locked(stream, &command);
  return fake_leave(CLPI_CUDA_SUCCESS);
}
