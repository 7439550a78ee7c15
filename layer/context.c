/* SPDX-License-Identifier: MIT */
#include "context.h"

#include "blocks.h"
#include "dispatch.h"
#include "handles.h"
#include "opencl/device.h"
#include "settings.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* Large buffers have little padding: less than 1 in 2^LARGE_BITS. */
enum { LARGE_BYTES = 1 << 20, LARGE_BITS = 6 };

static clpi_handles contexts = CLPI_HANDLES_INIT;
static atomic_bool has_stopped;

/* Guarded by the lock, which is taken before those of contexts. */
static struct {
  pthread_mutex_t lock;
  clpi_context *open, *closed; /* lists by `next` */
  clpi_totals ended;           /* of contexts that are no more */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool has_closed;

/* --- which contexts have pools --- */

/* With several devices a buffer moves between them, and pools would keep memory that no device
 * needs. */
static bool is_pooled(cl_context handle, clpi_cl_bounds *bounds)
{
  cl_uint devices = 0;
  return !clpi_contexts_have_stopped() &&
         !clpi_target->clGetContextInfo(handle, CL_CONTEXT_NUM_DEVICES, sizeof(devices), &devices,
                                        NULL) &&
         devices == 1 && !clpi_cl_context_bounds(handle, bounds) &&
         bounds->version >= CLPI_CL_WAIT_LIST_VERSION;
}

/* Its pool retains the driver's context. */
static bool begin(clpi_context *context, cl_context handle, const clpi_cl_bounds *bounds)
{
  context->order = (clpi_cl_queue_order){
      .context = handle, .has_wait_lists = true, .forgets_barriers = bounds->has_pocl};
  context->max_block_bytes = bounds->max_block_bytes;
  context->more_flags = bounds->may_abort ? CL_MEM_ALLOC_HOST_PTR : 0;
  context->references = context->users = 1;
  clpi_account_begin(&context->account, bounds->device_bytes);
  pthread_mutex_init(&context->lock, NULL);
  return !clpi_target->clRetainContext(handle);
}

void clpi_context_add(cl_context handle)
{
  clpi_cl_bounds bounds;
  clpi_context *context =
      is_pooled(handle, &bounds) ? aligned_alloc(alignof(clpi_context), sizeof(*context)) : NULL;
  if (!context)
    return;
  memset(context, 0, sizeof(*context));
  if (!begin(context, handle, &bounds)) {
    free(context);
    return;
  }
  if (!clpi_blocks_begin(context) || !clpi_handles_put(&contexts, handle, context)) {
    clpi_context_free(context);
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

/* --- totals --- */

static void add_totals(const clpi_context *context, clpi_totals *to)
{
  const clpi_account *account = &context->account;
  for (int i = 0; i < 2; i++) {
    to->served[i] += account->served[i];
    to->fresh[i] += MIN(account->fresh[i], account->served[i]);
  }
  to->peak_live_bytes += account->peak_live_bytes;
  to->peak_taken_bytes += account->peak_taken_bytes;
  to->held_bytes += account->taken_bytes - account->active_bytes;
}

clpi_totals clpi_contexts_total(void)
{
  pthread_mutex_lock(&all.lock);
  clpi_totals totals = all.ended;
  for (const clpi_context *it = all.open; it; it = it->next)
    add_totals(it, &totals);
  for (const clpi_context *it = all.closed; it; it = it->next)
    add_totals(it, &totals);
  pthread_mutex_unlock(&all.lock);
  return totals;
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
  has_closed = true;
  pthread_mutex_unlock(&all.lock);
}

/* Its queues may still refer to the pool, which stays for them. */
void clpi_context_release(clpi_context *context)
{
  if (atomic_fetch_sub(&context->references, 1) > 1)
    return;
  clpi_handles_take(&contexts, context->order.context);
  close_context(context);
  clp_pool_stop_holding(context->pool);
  clpi_context_drop_user(context);
}

clpi_context *clpi_context_take_unused(void)
{
  if (!has_closed)
    return NULL;
  clpi_context **link = &all.closed;
  pthread_mutex_lock(&all.lock);
  while (*link && (*link)->users > 0)
    link = &(*link)->next;
  clpi_context *found = *link;
  if (found) {
    *link = found->next;
    add_totals(found, &all.ended);
  }
  has_closed = all.closed != NULL;
  pthread_mutex_unlock(&all.lock);
  return found;
}

void clpi_context_free(clpi_context *context)
{
  clp_pool_release(context->pool);
  clpi_cl_queue_order_end(&context->order);
  clpi_kinds_end(&context->kinds);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

/* --- blocks --- */

clpi_kind *clpi_context_buffer_kind(clpi_context *context, cl_mem_flags flags, size_t bytes,
                                    bool is_rounded)
{
  unsigned bits = clpi_settings.leading_bits;
  if (bytes == 0 || bytes > context->max_block_bytes)
    return NULL;
  if (bytes >= LARGE_BYTES)
    bits = MAX(bits, (unsigned)LARGE_BITS);
  const size_t rounded = is_rounded ? clp_bin_size(bits, clp_bin_number(bits, bytes)) : bytes;
  const clpi_kind_key key = {.type = CL_MEM_OBJECT_BUFFER,
                             .flags = flags,
                             .width = MIN(rounded, context->max_block_bytes)};
  return clpi_kind_get(&context->kinds, &key, &context->lock);
}

/* The pool's bytes are numbers of kinds: one less means one block less, of any kind. The pool looks
 * at all kinds, so with many of them several blocks go at once. */
bool clpi_context_free_oldest(clpi_context *context)
{
  enum { MANY_KINDS = 64, PART = 8 };
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (clp_pool_get_stats(context->pool, &stats) || stats.held_blocks == 0)
    return false;
  const size_t numbers = context->kinds.count > MANY_KINDS ? stats.held_bytes / PART : 1;
  return !clp_pool_trim_to(context->pool, stats.managed_bytes - MAX(numbers, 1));
}

void clpi_context_trim(clpi_context *context)
{
  while (clpi_account_excess(&context->account) > 0 && clpi_context_free_oldest(context))
    continue;
}

void clpi_contexts_trim(void)
{
  pthread_mutex_lock(&all.lock);
  for (const clpi_context *context = all.open; context; context = context->next)
    (void)clp_pool_free_held(context->pool);
  pthread_mutex_unlock(&all.lock);
}

/* --- the end of pooling --- */

clpi_context *clpi_context_take_unstopped(void)
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

bool clpi_contexts_begin_stop(void)
{
  return !atomic_exchange(&has_stopped, true);
}

bool clpi_contexts_have_stopped(void)
{
  return atomic_load_explicit(&has_stopped, memory_order_relaxed);
}
