/* SPDX-License-Identifier: MIT */
/* The device of a program of the crowd: a late one, or memory of one of the library's own
 * allocators. That memory is counted, fails on purpose and lets other threads run, without a lock.
 */
#include "crowd.h"

#include "core/allocator/allocator.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <sched.h>

enum { CALLS_PER_YIELD = 4 };

static clp_status begin_call(crowd *all)
{
  unsigned call = atomic_fetch_add_explicit(&all->device_calls, 1, memory_order_relaxed);

  if (all->plan.yields && call % CALLS_PER_YIELD == 0)
    (void)sched_yield();
  if (all->plan.faults == 0 || atomic_load_explicit(&all->is_sound, memory_order_relaxed) ||
      call % all->plan.faults != all->plan.faults - 1)
    return CLP_SUCCESS;
  return clp_set_last_error(CLP_BACKEND_ERROR, (int)call, "the device fails on purpose");
}

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  crowd *all = self;
  clp_status status = begin_call(all);

  if (status == CLP_SUCCESS)
    status = clp_allocator_allocate(all->upstream, bytes, out);
  if (status != CLP_SUCCESS)
    return status;
  atomic_fetch_add_explicit(&all->live_blocks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&all->live_bytes, bytes, memory_order_relaxed);
  return CLP_SUCCESS;
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  crowd *all = self;
  clp_status status = begin_call(all);

  if (status != CLP_SUCCESS)
    return status;
  atomic_fetch_sub_explicit(&all->live_blocks, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&all->live_bytes, bytes, memory_order_relaxed);
  return clp_allocator_free(all->upstream, memory, bytes);
}

static clp_allocator *start_counted(crowd *all)
{
  bool is_host = all->plan.backend == CROWD_HOST;
  clp_allocator *allocator = NULL;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;

  ops.name = "crowd-device";
  ops.allocate = device_allocate;
  ops.free = device_free;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  ops.memory_kind = is_host ? CLP_MEMORY_HOST : CLP_MEMORY_SIMULATED;
  ops.alignment = is_host ? 64 : 256;
  clpt_ok(is_host ? clp_host_allocator_create(0, &all->upstream)
                  : clp_simulated_allocator_create(all->plan.capacity, &all->upstream));
  clpt_ok(clp_allocator_create(&ops, all, &allocator));
  return allocator;
}

static void yield_on_call(clpt_late_device *late, clpt_late_call call)
{
  (void)late, (void)call;
  (void)sched_yield();
}

static clp_allocator *start_late(clpt_late_device *late, const crowd_plan *plan)
{
  clpt_late_init(late);
  clpt_late_set_freeing(late, (clpt_late_freeing)plan->freeing);
  late->capacity = plan->capacity;
  late->streams.reuse_addresses = true;
  late->marks_are_work = plan->seed % 4 == 0;
  late->on_call = plan->yields ? yield_on_call : NULL;
  if (plan->has_home)
    late->ops.home_stream = clpt_late_stream_new(late);
  return clpt_late_allocator(late);
}

void crowd_device_start(crowd *all)
{
  bool is_late = all->plan.backend == CROWD_LATE;
  clp_allocator *bottom = is_late ? start_late(&all->late, &all->plan) : start_counted(all);

  all->allocator = bottom;
  if (!all->plan.is_on_arena)
    return;
  clpt_ok(clp_arena_allocator_create(bottom, NULL, &all->allocator));
  clp_allocator_release(bottom);
}

void crowd_device_end(crowd *all)
{
  bool is_late = all->plan.backend == CROWD_LATE;
  const char *wrong;

  clp_allocator_release(all->allocator);
  clp_allocator_release(all->upstream);
  wrong = is_late                                       ? clpt_late_find_wrong(&all->late)
          : all->live_blocks > 0 || all->live_bytes > 0 ? "the device has live blocks at the end"
                                                        : NULL;
  if (wrong != NULL)
    crowd_wrong(all, "%s", wrong);
  else if (is_late)
    clpt_late_end(&all->late);
}
