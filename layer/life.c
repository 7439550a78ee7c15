/* SPDX-License-Identifier: MIT */
#include "life.h"

#include "dispatch.h"
#include "order.h"

/* The caller that released the last block may still hold the lock. */
static void end(clpi_context *context)
{
  pthread_mutex_lock(&context->lock);
  pthread_mutex_unlock(&context->lock);
  clpi_queues_end(context);
  if (context->mark)
    clpi_target->clReleaseEvent(context->mark);
  clpi_context_free(context);
}

void clpi_contexts_sweep(void)
{
  clpi_context *unused;
  while ((unused = clpi_context_take_unused()))
    end(unused);
}

/* Without the lock of all contexts: the program's callbacks need it, and the awaited work may be
 * behind those. */
void clpi_contexts_stop(void)
{
  clpi_context *context;
  if (!clpi_contexts_begin_stop())
    return;
  while ((context = clpi_context_take_unstopped())) {
    clpi_order_settle(context);
    (void)clp_pool_stop_holding(context->pool);
    clpi_context_drop_user(context);
  }
  clpi_contexts_sweep();
}
