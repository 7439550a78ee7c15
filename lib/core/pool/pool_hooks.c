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

clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook)
{
  clp_status status = check(pool, hook, "clp_pool_add_hook");
  return status ? status : clpi_pool_hooks_add(&pool->hooks, hook);
}

clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook)
{
  CLPI_UNCANCELLED;
  clp_status status = check(pool, hook, "clp_pool_remove_hook");
  return status ? status : clpi_pool_hooks_remove(&pool->hooks, hook);
}
