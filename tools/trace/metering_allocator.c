/* SPDX-License-Identifier: MIT */
/* Metering: counts between a pool and its allocator, so that a footprint is measured. */
#include "trace/metering_allocator.h"

#include "core/allocator/allocator.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct metering {
  clp_allocator *metered; /* retained */
  /* Relaxed throughout: the counters stand for themselves and guard no other memory. */
  atomic_size_t taken_bytes;
  atomic_size_t peak_bytes;
  atomic_uint_fast64_t allocations;
  atomic_uint_fast64_t frees;
  atomic_uint_fast64_t parts;
  trace_block_callback on_block;
  void *user_data;
} metering;

static void tell_block(const metering *meter, size_t bytes, bool is_taken)
{
  if (meter->on_block)
    meter->on_block(bytes, is_taken, meter->user_data);
}

static void raise_peak(metering *meter, size_t taken_bytes)
{
  size_t peak = atomic_load_explicit(&meter->peak_bytes, memory_order_relaxed);
  while (peak < taken_bytes &&
         !atomic_compare_exchange_weak_explicit(&meter->peak_bytes, &peak, taken_bytes,
                                                memory_order_relaxed, memory_order_relaxed))
    continue;
}

static clp_status metering_allocate(void *self, size_t bytes, clp_memory *out)
{
  metering *meter = self;
  clp_status status = clp_allocator_allocate(meter->metered, bytes, out);
  if (status)
    return status;
  atomic_fetch_add_explicit(&meter->allocations, 1, memory_order_relaxed);
  size_t before = atomic_fetch_add_explicit(&meter->taken_bytes, bytes, memory_order_relaxed);
  raise_peak(meter, before + bytes);
  tell_block(meter, bytes, true);
  return CLP_SUCCESS;
}

static void count_free(metering *meter, size_t bytes)
{
  atomic_fetch_add_explicit(&meter->frees, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&meter->taken_bytes, bytes, memory_order_relaxed);
  tell_block(meter, bytes, false);
}

static clp_status metering_free(void *self, clp_memory memory, size_t bytes)
{
  metering *meter = self;
  clp_status status = clp_allocator_free(meter->metered, memory, bytes);
  if (status)
    return status;
  count_free(meter, bytes);
  return CLP_SUCCESS;
}

static void metering_destroy(void *self)
{
  metering *meter = self;
  clp_allocator_release(meter->metered);
  free(meter);
}

/* The operations that are passed on as they are: those of `metered` are complete. Its operations
 * that order streams are called of it. */

static const clp_allocator_ops *ops_of(void *self)
{
  return &((metering *)self)->metered->ops;
}

static void *self_of(void *self)
{
  return ((metering *)self)->metered->self;
}

static clp_status pass_split(void *self, clp_memory block, size_t offset, size_t bytes,
                             clp_memory *part)
{
  metering *meter = self;
  clp_status status = ops_of(self)->split(self_of(self), block, offset, bytes, part);
  if (!status)
    atomic_fetch_add_explicit(&meter->parts, 1, memory_order_relaxed);
  return status;
}

static clp_status pass_unsplit(void *self, clp_memory part, size_t bytes)
{
  return ops_of(self)->unsplit(self_of(self), part, bytes);
}

static clp_status pass_drain(void *self)
{
  return ops_of(self)->drain(self_of(self));
}

static clp_status pass_return_cached(void *self)
{
  return ops_of(self)->return_cached(self_of(self));
}

static clp_status pass_forget_stream(void *self, clp_stream stream)
{
  return ops_of(self)->forget_stream(self_of(self), stream);
}

static clp_status metering_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  metering *meter = self;
  clp_status status = ops_of(self)->free_on(self_of(self), memory, bytes, stream);
  if (!status)
    count_free(meter, bytes);
  return status;
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
  metering meter = {.metered = metered};
  clp_status status = clpi_allocator_create_with(&ops, &meter, sizeof(meter), out);
  if (status)
    return status;
  (*out)->orders = clp_allocator_retain(metered)->orders;
  return CLP_SUCCESS;
}

trace_meter trace_metering_allocator_read(const clp_allocator *allocator)
{
  metering *meter = allocator->self;
  return (trace_meter){
      .taken_bytes = atomic_load_explicit(&meter->taken_bytes, memory_order_relaxed),
      .peak_bytes = atomic_load_explicit(&meter->peak_bytes, memory_order_relaxed),
      .allocations = atomic_load_explicit(&meter->allocations, memory_order_relaxed),
      .frees = atomic_load_explicit(&meter->frees, memory_order_relaxed),
      .parts = atomic_load_explicit(&meter->parts, memory_order_relaxed),
  };
}

void trace_metering_allocator_watch(clp_allocator *allocator, trace_block_callback on_block,
                                    void *user_data)
{
  metering *meter = allocator->self;
  meter->on_block = on_block;
  meter->user_data = user_data;
}
