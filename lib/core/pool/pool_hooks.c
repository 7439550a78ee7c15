/* SPDX-License-Identifier: MIT */
/* The public calls for the hooks of a pool. */
#include "core/base/error.h"
#include "core/pool/pool.h"

static clp_status refuse(const char *function)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool or hook is NULL", function);
}

clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook)
{
  return pool && hook ? clpi_pool_hooks_add(&pool->hooks, hook) : refuse("clp_pool_add_hook");
}

clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook)
{
  return pool && hook ? clpi_pool_hooks_remove(&pool->hooks, hook) : refuse("clp_pool_remove_hook");
}
