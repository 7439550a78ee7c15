/* SPDX-License-Identifier: MIT */
/* The public calls for the hooks of a pool. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"

static clp_status check(const clp_pool *pool, const clp_hook *hook, const char *function)
{
  if (!pool || !hook)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool or hook is NULL", function);
  return clpi_pool_check(pool, function);
}

/* While there are hooks, no call is warm. */
static clp_status note_hooks(clp_pool *pool)
{
  pthread_mutex_lock(&pool->stock.lock);
  clpi_stock_set_cold_locked(&pool->stock, CLPI_IS_WATCHED, clpi_relaxed(pool->hooks.first));
  pthread_mutex_unlock(&pool->stock.lock);
  return CLP_SUCCESS;
}

clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook)
{
  clp_status status = check(pool, hook, "clp_pool_add_hook");
  if (!status)
    status = clpi_pool_hooks_add(&pool->hooks, hook);
  return status ? status : note_hooks(pool);
}

clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook)
{
  CLPI_UNCANCELLED;
  clp_status status = check(pool, hook, "clp_pool_remove_hook");
  if (!status)
    status = clpi_pool_hooks_remove(&pool->hooks, hook);
  return status ? status : note_hooks(pool);
}
