/* SPDX-License-Identifier: MIT */
/* The options of a pool, and the variables of the environment that set them. */
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/pool/pool.h"

#include "core/base/options.h"

#include <clpool/bin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { USUAL_BITS = 4, BOTH_FLAGS = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static void unset_zeros(clp_pool_options *options)
{
  if (!options->leading_bits_in_bin_id)
    options->leading_bits_in_bin_id = CLP_DEFAULT_BITS;
  if (!options->reuse_flags)
    options->reuse_flags = CLP_DEFAULT_REUSE_FLAGS;
  if (!options->hold_bytes)
    options->hold_bytes = CLP_DEFAULT_HOLD_BYTES;
  if (!options->arena)
    options->arena = CLP_DEFAULT_ARENA;
}

/* Whether the variable decides about a field. If it is set but the field wins, the log says so
 * once. */
static bool is_open(bool is_unset, const char *variable, atomic_flag *is_told)
{
  const char *text = is_unset ? NULL : clpi_environment_text(variable);
  if (text && !atomic_flag_test_and_set(is_told))
    clpi_log(CLP_LOG_INFO, "%s=\"%s\" is ignored for a pool whose options set that field", variable,
             text);
  return is_unset;
}

static clp_status read_environment(const clp_allocator *allocator, clp_pool_options *options)
{
  static const char bits[] = "CLPOOL_LEADING_BITS", hold[] = "CLPOOL_HOLD",
                    arena[] = "CLPOOL_ARENA";
  static atomic_flag told[] = {ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT};
  clp_status status = CLP_SUCCESS;
  if (is_open(options->leading_bits_in_bin_id == CLP_DEFAULT_BITS, bits, &told[0])) {
    options->leading_bits_in_bin_id = USUAL_BITS;
    status = clpi_environment_number(bits, CLP_MAX_LEADING_BITS, &options->leading_bits_in_bin_id);
  }
  if (is_open(options->hold_bytes == CLP_DEFAULT_HOLD_BYTES, hold, &told[1]) && !status)
    status = clpi_environment_bytes(hold, allocator->name, allocator->ops.device_bytes,
                                    &options->hold_bytes);
  if (is_open(options->arena == CLP_DEFAULT_ARENA, arena, &told[2]) && !status) {
    options->arena = 0;
    status = clpi_environment_number(arena, 1, &options->arena);
    options->arena = options->arena && allocator->ops.split;
  }
  return status;
}

clp_status clpi_pool_options_read(const clp_allocator *allocator, const clp_pool_options *given,
                                  clp_pool_options *options)
{
  *options = (clp_pool_options)CLP_POOL_OPTIONS_INIT;
  size_t least =
      offsetof(clp_pool_options, leading_bits_in_bin_id) + sizeof(given->leading_bits_in_bin_id);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_pool_options");
  if (!status)
    status = clpi_options_check_initialized(options->initialized, "clp_pool_options");
  if (status)
    return status;
  if (!options->initialized)
    unset_zeros(options);
  if (options->reuse_flags == CLP_DEFAULT_REUSE_FLAGS)
    options->reuse_flags = BOTH_FLAGS;
  status = read_environment(allocator, options);
  if (status)
    return status;
  if (options->hold_bytes == SIZE_MAX - 1)
    options->hold_bytes = SIZE_MAX;
  if (options->leading_bits_in_bin_id > CLP_MAX_LEADING_BITS)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "leading_bits_in_bin_id is %u; expected 0 to %u",
                      options->leading_bits_in_bin_id, CLP_MAX_LEADING_BITS);
  if (options->reuse_flags & ~(unsigned)BOTH_FLAGS)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "reuse_flags has unknown bits: 0x%x",
                      options->reuse_flags & ~(unsigned)BOTH_FLAGS);
  if (options->arena > 1)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_options: arena is %u; expected 0 or 1",
                      options->arena);
  return CLP_SUCCESS;
}

/* --- the limit --- */

clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit)
{
  if (!(fraction >= 0.0 && fraction <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "a limit's fraction is %g, not 0 to 1", fraction);
  if (!device_bytes && fraction > 0.0)
    return clpi_error(
        CLP_NOT_SUPPORTED, 0,
        "the device's memory is unknown to %s: set the limit in bytes, not as a fraction", whose);
  size_t bytes = fraction < 1.0 ? (size_t)(fraction * (double)device_bytes) : device_bytes;
  *limit = bytes || fraction <= 0.0 ? bytes : 1; /* 0 would mean no limit */
  return CLP_SUCCESS;
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
