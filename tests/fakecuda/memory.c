/* SPDX-License-Identifier: MIT */
/* The driver's calls that allocate, free, fill and copy memory. */
#include "fake.h"

#include <string.h>

/* --- in stream order --- */

static CUresult allocate_locked(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                CUstream stream)
{
  if (!mempool || !bytes || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  fake_begin_locked(stream);
  return fake_mempool_take_locked(mempool, bytes, stream, pointer);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool handle,
                                 CUstream stream_handle)
{
  FAKE_ENTER(cuMemAllocFromPoolAsync);
  CUstream stream = fake_uncaptured_locked(stream_handle, &code);
  return stream ? allocate_locked(pointer, bytes, fake_mempool_locked(handle), stream) : code;
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle)
{
  FAKE_ENTER(cuMemAllocAsync);
  fake_device *device = NULL;
  CUstream stream = fake_uncaptured_locked(handle, &code);
  if (stream)
    code = fake_default_mempool_locked(stream->ctx->device, &device);
  return code ? code : allocate_locked(pointer, bytes, device->mempool, stream);
}

/* The allocation that begins there. */
static CUresult find_locked(CUdeviceptr pointer, fake_segment **segment, fake_range **range)
{
  if (fake_find_locked(pointer, segment, range) && (*range)->state == FAKE_IN_USE &&
      fake_address(*segment, *range) == pointer)
    return CLPI_CUDA_SUCCESS;
  return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "what is freed is no allocation, or free");
}

static void give_back_locked(fake_segment *segment, fake_range *range, fake_range_state state,
                             fake_point point)
{
  if (segment->mempool && !segment->imported && fake_defect != FAKECUDA_FREES_DO_NOT_COUNT)
    segment->mempool->used -= range->bytes;
  fake_range_free(range, fake_defect == FAKECUDA_FREES_ARE_EARLY ? FAKE_FREE : state, point);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle)
{
  FAKE_ENTER(cuMemFreeAsync);
  fake_segment *segment;
  fake_range *range;
  CUstream stream = fake_uncaptured_locked(handle, &code);
  if (!code)
    code = find_locked(pointer, &segment, &range);
  if (code)
    return code;
  if (!segment->mempool)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "memory of cuMemAlloc is freed in stream order");
  fake_begin_locked(stream);
  if (!fake_clock_has(&stream->clock, range->point))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                 "memory is freed on a stream that is not ordered after its "
                                 "allocation");
  if (!fake_uses_precede_locked(range, &stream->clock))
    return CLPI_CUDA_INVALID_VALUE;
  uint64_t position = fake_give_locked(stream, &(fake_command){.bytes = 0});
  give_back_locked(segment, range, FAKE_FREED, (fake_point){stream, position});
  return CLPI_CUDA_SUCCESS;
}

/* --- at once --- */

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  FAKE_ENTER(cuMemAlloc);
  CUcontext ctx = fake_current_locked();
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT;
  if (!bytes)
    return CLPI_CUDA_INVALID_VALUE;
  fake_segment *segment =
      fake_segment_new_locked(NULL, ctx->device, fake_rounded(bytes, FAKE_ALIGNMENT));
  if (!segment)
    return CLPI_CUDA_OUT_OF_MEMORY;
  fake_range_take(segment->ranges, segment->bytes, bytes, (fake_point){0});
  *pointer = fake_address(segment, segment->ranges);
  return CLPI_CUDA_SUCCESS;
}

/* Waits for the device's work, as the driver does for memory of cuMemAlloc. That of a pool must not
 * need it. */
CUresult cuMemFree(CUdeviceptr pointer)
{
  FAKE_ENTER(cuMemFree);
  CUcontext ctx = fake_current_locked();
  fake_segment *segment;
  fake_range *range;
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT;
  code = pointer ? find_locked(pointer, &segment, &range) : CLPI_CUDA_SUCCESS;
  if (code || !pointer)
    return code;
  if (!segment->mempool) {
    fake_reach_all_locked(ctx);
    code = find_locked(pointer, &segment, &range); /* again: the lock was open meanwhile */
  }
  if (code)
    return code;
  if (!fake_clock_has(&fake_observed, range->point) ||
      !fake_uses_precede_locked(range, &fake_observed))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "cuMemFree while memory is in use");
  if (segment->mempool)
    give_back_locked(segment, range, FAKE_FREE, (fake_point){0});
  else
    fake_segment_delete_locked(segment);
  return CLPI_CUDA_SUCCESS;
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
static CUstream begin_locked(CUstream handle, CUresult *code)
{
  CUstream stream = fake_uncaptured_locked(handle, code);
  if (stream)
    fake_begin_locked(stream);
  return stream;
}

/* Nothing, and a code, where the stream must not use the memory. */
static CUresult give_locked(CUstream stream, const fake_command *command)
{
  if (!command->to || (command->run_locked == copy_locked && !command->from))
    return FAKECUDA_ILLEGAL_ADDRESS;
  (void)fake_give_locked(stream, command);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char byte, size_t count, CUstream handle)
{
  FAKE_ENTER(cuMemsetD8Async);
  fake_command command = {.run_locked = fill_locked, .byte = byte, .bytes = count};
  CUstream stream = begin_locked(handle, &code);
  if (code)
    return code;
  command.to = fake_use_locked(stream, pointer, count, true);
  return give_locked(stream, &command);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream handle)
{
  FAKE_ENTER(cuMemcpyDtoHAsync);
  fake_command command = {.run_locked = copy_locked, .to = to, .bytes = bytes};
  CUstream stream = begin_locked(handle, &code);
  if (code)
    return code;
  command.from = fake_use_locked(stream, from, bytes, false);
  return give_locked(stream, &command);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle)
{
  FAKE_ENTER(cuMemcpyDtoDAsync);
  fake_command command = {.run_locked = copy_locked, .bytes = bytes};
  CUstream stream = begin_locked(handle, &code);
  if (code)
    return code;
  command.from = fake_use_locked(stream, from, bytes, false);
  command.to = command.from ? fake_use_locked(stream, to, bytes, true) : NULL;
  return give_locked(stream, &command);
}
