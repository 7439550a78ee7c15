/* SPDX-License-Identifier: MIT */
#include "context.h"

#include "blocks.h"
#include "core/base/cancel.h"
#include "dispatch.h"
#include "handles.h"
#include "opencl/device.h"
#include "queue.h"

#include <stdlib.h>
#include <string.h>

static clpi_handles contexts = CLPI_HANDLES_INIT;
atomic_bool clpi_contexts_stopped;
atomic_bool clpi_contexts_unused;

/* Guarded by the lock, which is taken before those of contexts. */
static struct {
  pthread_mutex_t lock;
  clpi_context *first; /* a list by `next`, in which a context stays as long as it has users */
  clpi_account ended;  /* of contexts that are no more */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- which contexts have pools --- */

/* With several devices a buffer moves between them, and pools would keep memory that no device
 * needs. */
static bool is_pooled(cl_context handle, clpi_cl_bounds *bounds)
{
  cl_uint devices = 0;
  return !clpi_contexts_stopped &&
         !clpi_target->clGetContextInfo(handle, CL_CONTEXT_NUM_DEVICES, sizeof(devices), &devices,
                                        NULL) &&
         devices == 1 && !clpi_cl_context_bounds(handle, bounds) &&
         bounds->version >= CLPI_CL_WAIT_LIST_VERSION;
}

/* With a reference to the driver's context, which `end` drops. NULL: there is none, or no host
 * memory. */
static clpi_context *make(cl_context handle, const clpi_cl_bounds *bounds)
{
  clpi_context *made = aligned_alloc(alignof(clpi_context), sizeof(*made));
  if (!made || clpi_target->clRetainContext(handle)) {
    free(made);
    return NULL;
  }
  memset(made, 0, sizeof(*made));
  made->order = (clpi_cl_queue_order){
      .context = handle, .has_wait_lists = true, .forgets_barriers = bounds->has_pocl};
  made->max_block_bytes = bounds->max_block_bytes;
  made->more_flags = bounds->may_abort ? CL_MEM_ALLOC_HOST_PTR : 0;
  made->references = made->users = 1;
  clpi_account_begin(&made->account, bounds->device_bytes);
  pthread_mutex_init(&made->lock, NULL);
  return made;
}

static void end(clpi_context *context)
{
  CLPI_UNCANCELLED;
  clpi_queues_end(context);
  if (context->mark)
    clpi_target->clReleaseEvent(context->mark);
  clp_pool_release(context->pool);
  clpi_cl_queue_order_end(&context->order);
  clpi_kinds_end(&context->kinds);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

void clpi_context_add(cl_context handle)
{
  clpi_cl_bounds bounds;
  clpi_context *context = is_pooled(handle, &bounds) ? make(handle, &bounds) : NULL;
  if (!context)
    return;
  if (!clpi_blocks_begin(context) || !clpi_handles_put(&contexts, handle, context)) {
    end(context);
    return;
  }
  pthread_mutex_lock(&all.lock);
  context->next = all.first;
  all.first = context;
  pthread_mutex_unlock(&all.lock);
}

clpi_context *clpi_context_find(cl_context handle)
{
  return clpi_handles_find(&contexts, handle);
}

/* --- their end --- */

/* The flag goes before the search, so that it stays for users that are dropped after it. */
static clpi_context *take_unused(void)
{
  clpi_context **link = &all.first;
  pthread_mutex_lock(&all.lock);
  clpi_contexts_unused = false;
  while (*link && (*link)->users > 0)
    link = &(*link)->next;
  clpi_context *found = *link;
  if (found) {
    *link = found->next;
    clpi_account_sum(&all.ended, &found->account);
    clpi_contexts_unused = true;
  }
  pthread_mutex_unlock(&all.lock);
  return found;
}

/* Whoever released the last block may still hold the context's lock. */
void clpi_contexts_sweep(void)
{
  clpi_context *unused;
  while (clpi_contexts_unused && (unused = take_unused())) {
    pthread_mutex_lock(&unused->lock);
    pthread_mutex_unlock(&unused->lock);
    end(unused);
  }
}

/* Its queues may still refer to the pool, which stays for them. The lock: clpi_contexts_trim must
 * not drop the last user, because no sweep follows it. */
void clpi_context_release(clpi_context *context)
{
  pthread_mutex_lock(&all.lock);
  bool is_last = atomic_fetch_sub(&context->references, 1) == 1;
  pthread_mutex_unlock(&all.lock);
  if (is_last) {
    clpi_handles_take(&contexts, context->order.context);
    clp_pool_stop_holding(context->pool);
    clpi_context_drop_user(context);
  }
  clpi_contexts_sweep();
}

/* --- all of them --- */

clpi_account clpi_contexts_total(void)
{
  pthread_mutex_lock(&all.lock);
  clpi_account total = all.ended;
  for (const clpi_context *it = all.first; it; it = it->next)
    clpi_account_sum(&total, &it->account);
  pthread_mutex_unlock(&all.lock);
  return total;
}

void clpi_contexts_trim(void)
{
  pthread_mutex_lock(&all.lock);
  for (const clpi_context *it = all.first; it; it = it->next)
    if (it->references > 0)
      (void)clp_pool_free_held(it->pool);
  pthread_mutex_unlock(&all.lock);
}

/* It waits without the lock, which the program's callbacks need: what is waited for may be behind
 * those. */
void clpi_contexts_stop(void)
{
  if (atomic_exchange(&clpi_contexts_stopped, true))
    return;
  pthread_mutex_lock(&all.lock);
  for (clpi_context *it = all.first; it; it = it->next) {
    it->users++;
    pthread_mutex_unlock(&all.lock);
    clpi_order_settle(it);
    (void)clp_pool_stop_holding(it->pool);
    pthread_mutex_lock(&all.lock);
    clpi_context_drop_user(it);
  }
  pthread_mutex_unlock(&all.lock);
  clpi_contexts_sweep();
}
