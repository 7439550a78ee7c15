/* SPDX-License-Identifier: MIT */
#include "context.h"

#include "dispatch.h"
#include "handles.h"
#include "order.h"
#include "settings.h"

#include <clpool/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bins of large buffers are narrow, since what a block has too much is much: less than 1 in
 * 2^LARGE_BITS. There are many such bins, so what they may hold is bounded. */
enum { LARGE_BYTES = 1 << 20, LARGE_BITS = 6, SPARE_PART = 32 };

static clpi_handles contexts = CLPI_HANDLES_INIT;
static atomic_bool has_stopped;

/* Guarded by the lock, which is taken before those of contexts. */
static struct {
  pthread_mutex_t lock;
  clpi_context *open, *closed; /* lists by `next` */
  atomic_bool has_closed;
  size_t ended_buffers, ended_blocks; /* of pools that are no more */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- which contexts have pools --- */

/* "OpenCL MAJOR.MINOR ...", from 1.2. */
static bool has_wait_lists(cl_device_id device)
{
  char text[256] = "";
  unsigned major, minor;
  clpi_target->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(text) - 1, text, NULL);
  return sscanf(text, "OpenCL %u.%u", &major, &minor) == 2 && (major > 1 || minor >= 2);
}

/* With several devices, a buffer moves between them, and pools would keep what is nobody's. */
static bool is_pooled(cl_context handle, cl_ulong *device_bytes)
{
  cl_device_id device;
  size_t bytes = 0;
  if (clpi_contexts_have_stopped() ||
      clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, 0, NULL, &bytes) ||
      bytes != sizeof(device) ||
      clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, bytes, &device, NULL))
    return false;
  return has_wait_lists(device) &&
         !clpi_target->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(*device_bytes),
                                       device_bytes, NULL);
}

void clpi_context_add(cl_context handle)
{
  cl_ulong device_bytes;
  clpi_context *context = is_pooled(handle, &device_bytes)
                              ? aligned_alloc(alignof(clpi_context), sizeof(*context))
                              : NULL;
  if (!context)
    return;
  memset(context, 0, sizeof(*context));
  context->handle = handle;
  context->spare_bytes = (size_t)(device_bytes / SPARE_PART);
  context->references = context->users = 1;
  pthread_mutex_init(&context->lock, NULL);
  if (!clpi_handles_put(&contexts, handle, context)) {
    free(context);
    return;
  }
  pthread_mutex_lock(&all.lock);
  context->next = all.open;
  all.open = context;
  pthread_mutex_unlock(&all.lock);
}

clpi_context *clpi_context_find(cl_context handle)
{
  return clpi_handles_find(&contexts, handle);
}

/* --- counts --- */

/* A block is new in its pool once. */
static void add_counts(const clpi_context *context, size_t *buffers, size_t *blocks)
{
  for (const clpi_flag_pool *it = context->pools; it; it = it->next) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    if (!it->pool || clp_pool_get_stats(it->pool, &stats))
      continue;
    *buffers += stats.allocations;
    *blocks += stats.device_allocations;
  }
}

void clpi_contexts_count(size_t *buffers, size_t *blocks)
{
  pthread_mutex_lock(&all.lock);
  *buffers = all.ended_buffers;
  *blocks = all.ended_blocks;
  for (const clpi_context *it = all.open; it; it = it->next)
    add_counts(it, buffers, blocks);
  for (const clpi_context *it = all.closed; it; it = it->next)
    add_counts(it, buffers, blocks);
  pthread_mutex_unlock(&all.lock);
}

/* --- references --- */

void clpi_context_retain(clpi_context *context)
{
  atomic_fetch_add(&context->references, 1);
}

static void close_context(clpi_context *context)
{
  clpi_context **link = &all.open;
  pthread_mutex_lock(&all.lock);
  while (*link != context)
    link = &(*link)->next;
  *link = context->next;
  context->next = all.closed;
  all.closed = context;
  all.has_closed = true;
  pthread_mutex_unlock(&all.lock);
}

/* Its queues may still name the pools, which stay for them. */
static void close_pools(const clpi_context *context)
{
  for (clpi_flag_pool *it = context->pools; it; it = it->next)
    if (it->pool)
      clp_pool_stop_holding(it->pool);
}

void clpi_context_release(clpi_context *context)
{
  if (atomic_fetch_sub(&context->references, 1) > 1)
    return;
  clpi_handles_take(&contexts, context->handle);
  close_context(context);
  close_pools(context);
  clpi_context_drop_user(context);
  clpi_contexts_sweep();
}

/* --- users --- */

void clpi_context_add_user(clpi_context *context)
{
  atomic_fetch_add_explicit(&context->users, 1, memory_order_relaxed);
}

void clpi_context_drop_user(clpi_context *context)
{
  atomic_fetch_sub(&context->users, 1);
}

static clpi_context *take_unused(void)
{
  clpi_context **link = &all.closed;
  pthread_mutex_lock(&all.lock);
  while (*link && (*link)->users > 0)
    link = &(*link)->next;
  clpi_context *found = *link;
  if (found) {
    *link = found->next;
    add_counts(found, &all.ended_buffers, &all.ended_blocks);
  }
  all.has_closed = all.closed != NULL;
  pthread_mutex_unlock(&all.lock);
  return found;
}

static void end_pools(const clpi_context *context)
{
  for (clpi_flag_pool *next, *it = context->pools; it; it = next) {
    next = it->next;
    clp_pool_release(it->pool);
    free(it);
  }
}

/* Whoever released the last block may still hold the lock. */
static void end_context(clpi_context *context)
{
  pthread_mutex_lock(&context->lock);
  pthread_mutex_unlock(&context->lock);
  clpi_queues_end(context);
  if (context->mark)
    clpi_target->clReleaseEvent(context->mark);
  end_pools(context);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

void clpi_contexts_sweep(void)
{
  clpi_context *unused;
  while (all.has_closed && (unused = take_unused()))
    end_context(unused);
}

/* --- pools --- */

static clp_pool *make_pool(const clpi_context *context, cl_mem_flags flags, bool is_large)
{
  clp_allocator *allocator;
  clp_pool *pool = NULL;
  if (clp_cl_deferred_allocator_create(context->handle, flags, &allocator))
    return NULL;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.leading_bits_in_bin_id = clpi_settings.leading_bits;
  if (is_large && options.leading_bits_in_bin_id < LARGE_BITS)
    options.leading_bits_in_bin_id = LARGE_BITS;
  options.reuse_flags = CLP_REUSE_OPPORTUNISTIC;
  (void)clp_pool_create(allocator, &options, &pool);
  clp_allocator_release(allocator);
  return pool;
}

/* What there is no pool for is remembered as well. */
static clpi_flag_pool *add_pool_locked(clpi_context *context, cl_mem_flags flags, bool is_large)
{
  clpi_flag_pool *made = malloc(sizeof(*made));
  if (!made)
    return NULL;
  *made = (clpi_flag_pool){flags, is_large, make_pool(context, flags, is_large), context->pools};
  context->pools = made;
  return made;
}

static clpi_flag_pool *find_pool(const clpi_context *context, cl_mem_flags flags, bool is_large)
{
  clpi_flag_pool *it = context->pools;
  while (it && (it->flags != flags || it->is_large != is_large))
    it = it->next;
  return it;
}

clp_pool *clpi_context_pool(clpi_context *context, cl_mem_flags flags, size_t bytes)
{
  bool is_large = bytes >= LARGE_BYTES;
  clpi_flag_pool *found = find_pool(context, flags, is_large);
  if (found)
    return found->pool;
  pthread_mutex_lock(&context->lock);
  found = find_pool(context, flags, is_large);
  if (!found)
    found = add_pool_locked(context, flags, is_large);
  pthread_mutex_unlock(&context->lock);
  return found ? found->pool : NULL;
}

void clpi_pool_has_grown(const clpi_context *context, clp_pool *pool, size_t bytes)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (bytes < LARGE_BYTES || clp_pool_get_stats(pool, &stats))
    return;
  size_t most = stats.peak_active_bytes + context->spare_bytes;
  if (stats.managed_bytes > most)
    (void)clp_pool_trim_to(pool, most);
}

/* --- all contexts --- */

void clpi_contexts_trim(void)
{
  pthread_mutex_lock(&all.lock);
  for (const clpi_context *context = all.open; context; context = context->next)
    for (const clpi_flag_pool *it = context->pools; it; it = it->next)
      if (it->pool)
        (void)clp_pool_free_held(it->pool);
  pthread_mutex_unlock(&all.lock);
}

static void stop(clpi_context *context)
{
  clpi_order_settle(context);
  for (clpi_flag_pool *it = context->pools; it; it = it->next)
    if (it->pool)
      (void)clp_pool_stop_holding(it->pool);
}

/* An open context that goes on, of which the caller becomes a user; NULL: there is none. */
static clpi_context *take_unstopped(void)
{
  pthread_mutex_lock(&all.lock);
  clpi_context *it = all.open;
  while (it && it->has_stopped)
    it = it->next;
  if (it) {
    it->has_stopped = true;
    clpi_context_add_user(it);
  }
  pthread_mutex_unlock(&all.lock);
  return it;
}

/* Without the lock of all contexts, which the program's callbacks need, and what is waited for may
 * be behind those. */
void clpi_contexts_stop(void)
{
  clpi_context *context;
  if (atomic_exchange(&has_stopped, true))
    return;
  while ((context = take_unstopped())) {
    stop(context);
    clpi_context_drop_user(context);
  }
  clpi_contexts_sweep();
}

bool clpi_contexts_have_stopped(void)
{
  return atomic_load_explicit(&has_stopped, memory_order_relaxed);
}
