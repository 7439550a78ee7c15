/* SPDX-License-Identifier: MIT */
#include "context.h"

#include "dispatch.h"
#include "handles.h"
#include "order.h"
#include "settings.h"

#include <clpool/opencl.h>
#include <stdlib.h>
#include <string.h>

static clpi_handles contexts = CLPI_HANDLES_INIT;
static atomic_bool has_stopped;

static struct {
  pthread_mutex_t lock; /* guards the list; taken before the locks of contexts */
  clpi_context *first;
} all = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* --- which contexts have pools --- */

/* "OpenCL MAJOR.MINOR ...", from 1.2. */
static bool has_wait_lists(cl_device_id device)
{
  char text[256] = "";
  static const char begin[] = "OpenCL ";
  clpi_target->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(text) - 1, text, NULL);
  return strncmp(text, begin, sizeof(begin) - 1) == 0 && atof(text + sizeof(begin) - 1) >= 1.2;
}

/* With several devices, a buffer moves between them, and pools would keep what is nobody's. */
static bool is_pooled(cl_context handle)
{
  cl_device_id device;
  size_t bytes = 0;
  if (clpi_contexts_have_stopped() ||
      clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, 0, NULL, &bytes) ||
      bytes != sizeof(device) ||
      clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, bytes, &device, NULL))
    return false;
  return has_wait_lists(device);
}

void clpi_context_add(cl_context handle)
{
  clpi_context *context = is_pooled(handle) ? calloc(1, sizeof(*context)) : NULL;
  if (!context)
    return;
  context->handle = handle;
  context->references = context->users = 1;
  pthread_mutex_init(&context->lock, NULL);
  if (!clpi_handles_put(&contexts, handle, context)) {
    free(context);
    return;
  }
  pthread_mutex_lock(&all.lock);
  context->next = all.first;
  if (all.first)
    all.first->previous = context;
  all.first = context;
  pthread_mutex_unlock(&all.lock);
}

clpi_context *clpi_context_find(cl_context handle)
{
  return clpi_handles_find(&contexts, handle);
}

/* --- references --- */

void clpi_context_retain(clpi_context *context)
{
  atomic_fetch_add(&context->references, 1);
}

static void leave_list(clpi_context *context)
{
  pthread_mutex_lock(&all.lock);
  if (context->previous)
    context->previous->next = context->next;
  else
    all.first = context->next;
  if (context->next)
    context->next->previous = context->previous;
  pthread_mutex_unlock(&all.lock);
}

/* Its queues may still name the pools, which stay for them. */
static void close_pools(const clpi_context *context)
{
  for (clpi_flag_pool *it = context->pools; it; it = it->next)
    if (it->pool)
      clp_pool_stop_holding(it->pool);
}

static void end_pools(const clpi_context *context)
{
  for (clpi_flag_pool *next, *it = context->pools; it; it = next) {
    next = it->next;
    clp_pool_release(it->pool);
    free(it);
  }
}

void clpi_context_release(clpi_context *context)
{
  if (atomic_fetch_sub(&context->references, 1) > 1)
    return;
  clpi_handles_take(&contexts, context->handle);
  leave_list(context);
  close_pools(context);
  clpi_context_drop_user(context);
}

void clpi_context_add_user(clpi_context *context)
{
  atomic_fetch_add_explicit(&context->users, 1, memory_order_relaxed);
}

void clpi_context_drop_user(clpi_context *context)
{
  if (atomic_fetch_sub(&context->users, 1) > 1)
    return;
  clpi_queues_end(context);
  if (context->mark)
    clpi_target->clReleaseEvent(context->mark);
  end_pools(context);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

/* --- pools --- */

static clp_pool *make_pool(const clpi_context *context, cl_mem_flags flags)
{
  clp_allocator *allocator;
  clp_pool *pool = NULL;
  if (clp_cl_deferred_allocator_create(context->handle, flags, &allocator))
    return NULL;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.leading_bits_in_bin_id = clpi_settings.leading_bits;
  options.reuse_flags = CLP_REUSE_OPPORTUNISTIC;
  if (!clp_pool_create(allocator, &options, &pool))
    (void)clp_pool_set_limit(pool, 0); /* CLPOOL_MEMORY_LIMIT is for the program's own pools */
  clp_allocator_release(allocator);
  return pool;
}

/* Flags for which there is no pool are remembered as well. */
static clpi_flag_pool *add_pool_locked(clpi_context *context, cl_mem_flags flags)
{
  clpi_flag_pool *made = malloc(sizeof(*made));
  if (!made)
    return NULL;
  *made = (clpi_flag_pool){flags, make_pool(context, flags), context->pools};
  context->pools = made;
  return made;
}

static clpi_flag_pool *find_pool(const clpi_context *context, cl_mem_flags flags)
{
  clpi_flag_pool *it = context->pools;
  while (it && it->flags != flags)
    it = it->next;
  return it;
}

clp_pool *clpi_context_pool(clpi_context *context, cl_mem_flags flags)
{
  clpi_flag_pool *found = find_pool(context, flags);
  if (found)
    return found->pool;
  pthread_mutex_lock(&context->lock);
  found = find_pool(context, flags);
  if (!found)
    found = add_pool_locked(context, flags);
  pthread_mutex_unlock(&context->lock);
  return found ? found->pool : NULL;
}

/* --- all contexts --- */

static size_t held_bytes(const clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  (void)clp_pool_get_stats(pool, &stats);
  return stats.held_bytes;
}

bool clpi_contexts_trim(void)
{
  bool had_any = false;
  pthread_mutex_lock(&all.lock);
  for (clpi_context *context = all.first; context; context = context->next)
    for (clpi_flag_pool *it = context->pools; it; it = it->next)
      if (it->pool && held_bytes(it->pool) > 0)
        had_any |= !clp_pool_free_held(it->pool);
  pthread_mutex_unlock(&all.lock);
  return had_any;
}

void clpi_contexts_stop(void)
{
  if (atomic_exchange(&has_stopped, true))
    return;
  pthread_mutex_lock(&all.lock);
  for (clpi_context *context = all.first; context; context = context->next) {
    clpi_order_settle(context);
    for (clpi_flag_pool *it = context->pools; it; it = it->next)
      (void)clp_pool_stop_holding(it->pool);
  }
  pthread_mutex_unlock(&all.lock);
}

bool clpi_contexts_have_stopped(void)
{
  return atomic_load_explicit(&has_stopped, memory_order_relaxed);
}
