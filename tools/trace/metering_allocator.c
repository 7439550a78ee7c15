/* SPDX-License-Identifier: MIT */
/* Metering: counts between a pool and its allocator, so that a footprint is measured. */
#include "trace/metering_allocator.h"

#include "core/allocator/allocator.h"

#include <stdlib.h>

typedef struct metering {
  clp_allocator *metered; /* retained */
  trace_meter meter;
} metering;

static clp_status metering_allocate(void *self, size_t bytes, clp_memory *out)
{
  metering *it = self;
  clp_status status = clp_allocator_allocate(it->metered, bytes, out);
  if (status)
    return status;
  it->meter.allocations++;
  it->meter.taken_bytes += bytes;
  if (it->meter.peak_bytes < it->meter.taken_bytes)
    it->meter.peak_bytes = it->meter.taken_bytes;
  if (it->meter.on_block)
    it->meter.on_block(bytes, true, it->meter.user_data);
  return CLP_SUCCESS;
}

static clp_status count_free(metering *it, size_t bytes, clp_status status)
{
  if (status)
    return status;
  it->meter.frees++;
  it->meter.taken_bytes -= bytes;
  if (it->meter.on_block)
    it->meter.on_block(bytes, false, it->meter.user_data);
  return CLP_SUCCESS;
}

static clp_status metering_free(void *self, clp_memory memory, size_t bytes)
{
  metering *it = self;
  return count_free(it, bytes, clp_allocator_free(it->metered, memory, bytes));
}

static void metering_destroy(void *self)
{
  metering *it = self;
  clp_allocator_release(it->metered);
  free(it);
}

/* The operations that are passed on as they are: those of `metered` are complete. Its operations
 * that order streams are called of it. */

static clp_status pass_split(void *self, clp_memory block, size_t offset, size_t bytes,
                             clp_memory *part)
{
  metering *it = self;
  clp_status status = it->metered->ops.split(it->metered->self, block, offset, bytes, part);
  it->meter.parts += !status;
  return status;
}

static clp_status pass_unsplit(void *self, clp_memory part, size_t bytes)
{
  metering *it = self;
  return it->metered->ops.unsplit(it->metered->self, part, bytes);
}

static clp_status pass_drain(void *self)
{
  metering *it = self;
  return it->metered->ops.drain(it->metered->self);
}

static clp_status pass_return_cached(void *self)
{
  metering *it = self;
  return it->metered->ops.return_cached(it->metered->self);
}

static clp_status pass_forget_stream(void *self, clp_stream stream)
{
  metering *it = self;
  return it->metered->ops.forget_stream(it->metered->self, stream);
}

static clp_status metering_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  metering *it = self;
  return count_free(it, bytes, it->metered->ops.free_on(it->metered->self, memory, bytes, stream));
}

clp_status trace_metering_allocator_create(clp_allocator *metered, clp_allocator **out)
{
  clp_allocator_ops ops = metered->ops; /* name, kind and figures stay */
  ops.allocate = metering_allocate;
  ops.allocate_within = NULL; /* what is metered is what is taken, not what is kept */
  ops.free = metering_free;
  ops.destroy = metering_destroy;
  ops.drain = pass_drain;
  ops.return_cached = pass_return_cached;
  if (ops.split && ops.split != clpi_split_address) {
    ops.split = pass_split;
    ops.unsplit = pass_unsplit;
  }
  ops.free_on = metered->ops.free_on ? metering_free_on : NULL;
  if (ops.forget_stream)
    ops.forget_stream = pass_forget_stream;
  metering it = {.metered = metered};
  clp_status status = clpi_allocator_create_with(&ops, &it, sizeof(it), out);
  if (status)
    return status;
  (*out)->orders = clp_allocator_retain(metered)->orders;
  return CLP_SUCCESS;
}

trace_meter *trace_meter_of(const clp_allocator *allocator)
{
  return &((metering *)allocator->self)->meter;
}

/* --- simulated devices --- */

static clp_status make_part(void *self, clp_memory block, size_t offset, size_t bytes,
                            clp_memory *part)
{
  return clpi_split_address(self, block, offset, bytes, part);
}

clp_status trace_model_device_create(bool has_parts, size_t device_bytes, clp_allocator **out)
{
  clp_status status = clp_simulated_allocator_create(0, out);
  if (!status)
    (*out)->ops.device_bytes = device_bytes;
  if (!status && has_parts) {
    (*out)->ops.split = make_part; /* which an arena does not know to be an address */
    (*out)->ops.memory_kind = CLP_MEMORY_CL_MEM;
  }
  return status;
}

size_t trace_device_bytes(const clp_allocator *allocator)
{
  return allocator->ops.device_bytes;
}
