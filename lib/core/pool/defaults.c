/* SPDX-License-Identifier: MIT */
/* The options of a pool, and the environment's part in them. */
#include "core/pool/defaults.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/pool/pool.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/base/options.h"

#include <clpool/bin.h>
#include <stdbool.h>

/* Whether the program filled in what the fields of 0 mean: those are then not the defaults. */
static bool is_stated(const clp_pool_options *given)
{
  return given && given->initialized;
}

static void put_defaults_for_zeros(clp_pool_options *options, const clp_pool_options *defaults)
{
  if (!options->leading_bits_in_bin_id)
    options->leading_bits_in_bin_id = defaults->leading_bits_in_bin_id;
  if (!options->reuse_flags)
    options->reuse_flags = defaults->reuse_flags;
}

clp_status clpi_pool_options_read(const clp_pool_options *given, clp_pool_options *options)
{
  clp_pool_options defaults = CLP_POOL_OPTIONS_INIT;
  *options = defaults;
  size_t least =
      offsetof(clp_pool_options, leading_bits_in_bin_id) + sizeof(given->leading_bits_in_bin_id);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_pool_options");
  if (!status)
    status = clpi_options_check_initialized(options->initialized, "clp_pool_options");
  if (status)
    return status;
  if (!is_stated(given)) {
    status = clpi_environment_number("CLPOOL_LEADING_BITS", CLP_MAX_LEADING_BITS,
                                     &defaults.leading_bits_in_bin_id);
    if (status)
      return status;
    if (!given)
      *options = defaults;
    put_defaults_for_zeros(options, &defaults);
  }
  if (options->leading_bits_in_bin_id > CLP_MAX_LEADING_BITS)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "leading_bits_in_bin_id is %u, more than %u",
                      options->leading_bits_in_bin_id, CLP_MAX_LEADING_BITS);
  unsigned known = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES;
  if (options->reuse_flags & ~known)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "reuse_flags has unknown bits: 0x%x",
                      options->reuse_flags & ~known);
  return CLP_SUCCESS;
}

clp_status clpi_pool_place(clp_allocator *allocator, const clp_pool_options *given,
                           clp_allocator **out)
{
  unsigned wants_arena = 0;
  clp_status status =
      is_stated(given) ? CLP_SUCCESS : clpi_environment_number("CLPOOL_ARENA", 1, &wants_arena);
  if (status)
    return status;
  if (wants_arena && clpi_allocator_splits(allocator))
    return clpi_default_arena(allocator, NULL, out);
  *out = clp_allocator_retain(allocator);
  return CLP_SUCCESS;
}

/* --- the limit --- */

clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit)
{
  if (!(fraction >= 0.0 && fraction <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "a limit of %g is not between 0 and 1", fraction);
  if (!device_bytes && fraction > 0.0)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "a limit as a part of the device's memory: %s does not know how much it has",
                      whose);
  *limit = clpi_part_of_bytes(device_bytes, fraction);
  return CLP_SUCCESS;
}

clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit)
{
  *limit = 0;
  return clpi_environment_bytes("CLPOOL_MEMORY_LIMIT", whose, device_bytes, limit);
}

clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_set_limit");
  if (status)
    return status;
  pthread_mutex_lock(&pool->shards.lock);
  clpi_set_relaxed(pool->limit, bytes);
  pthread_mutex_unlock(&pool->shards.lock);
  return CLP_SUCCESS;
}

clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction)
{
  clp_status status = clpi_pool_check(pool, "clp_pool_set_limit_fraction");
  if (status)
    return status;
  const clp_allocator *allocator = pool->allocator;
  size_t limit = 0;
  status = clpi_limit_from_fraction(allocator->name, allocator->ops.device_bytes, fraction, &limit);
  return status ? status : clp_pool_set_limit(pool, limit);
}

size_t clp_pool_get_limit(const clp_pool *pool)
{
  if (!pool)
    return 0;
  return clpi_relaxed(pool->limit);
}
