/* SPDX-License-Identifier: MIT */
/* The attributes of memory pools: reuse, release threshold, usage. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

static clp_status get(clp_cuda_mempool mempool, int attribute, void *value)
{
  return clpi_cuda_call(cuMemPoolGetAttribute, mempool, attribute, value);
}

static clp_status set(clp_cuda_mempool mempool, int attribute, void *value)
{
  return clpi_cuda_call(cuMemPoolSetAttribute, mempool, attribute, value);
}

/* --- reuse --- */

/* The driver's reuse attributes and the flags for them, in the order of the flags. */
static const struct {
  int attribute;
  unsigned flag;
} switches[] = {
    {CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES},
    {CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, CLP_CUDA_REUSE_OPPORTUNISTIC},
    {CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES},
};
enum { SWITCH_COUNT = sizeof(switches) / sizeof(switches[0]) };

clp_status clp_cuda_mempool_get_reuse(clp_cuda_mempool mempool, unsigned *flags)
{
  CLPI_UNCANCELLED;
  if (!flags)
    return clpi_cuda_refuse_null("clp_cuda_mempool_get_reuse", "flags");
  clp_status status = clpi_cuda_mempool_check("clp_cuda_mempool_get_reuse", mempool);
  unsigned found = 0;
  for (size_t i = 0; !status && i < SWITCH_COUNT; i++) {
    int is_on = 0;
    status = get(mempool, switches[i].attribute, &is_on);
    found |= is_on ? switches[i].flag : 0;
  }
  if (!status)
    *flags = found;
  return status;
}

clp_status clp_cuda_mempool_set_reuse(clp_cuda_mempool mempool, unsigned flags)
{
  CLPI_UNCANCELLED;
  unsigned unknown = flags;
  for (size_t i = 0; i < SWITCH_COUNT; i++)
    unknown &= ~switches[i].flag;
  if (unknown)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_mempool_set_reuse: unknown flags 0x%x",
                      unknown);
  clp_status status = clpi_cuda_mempool_check("clp_cuda_mempool_set_reuse", mempool);
  for (size_t i = 0; !status && i < SWITCH_COUNT; i++) {
    int is_on = (flags & switches[i].flag) != 0;
    status = set(mempool, switches[i].attribute, &is_on);
  }
  return status;
}

/* --- the release threshold --- */

clp_status clp_cuda_mempool_get_release_threshold(clp_cuda_mempool mempool, uint64_t *bytes)
{
  CLPI_UNCANCELLED;
  if (!bytes)
    return clpi_cuda_refuse_null("clp_cuda_mempool_get_release_threshold", "bytes");
  clp_status status = clpi_cuda_mempool_check("clp_cuda_mempool_get_release_threshold", mempool);
  uint64_t threshold = 0;
  if (!status)
    status = get(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &threshold);
  if (!status)
    *bytes = threshold;
  return status;
}

clp_status clp_cuda_mempool_set_release_threshold(clp_cuda_mempool mempool, uint64_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_cuda_mempool_check("clp_cuda_mempool_set_release_threshold", mempool);
  return status ? status : set(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &bytes);
}

/* --- usage --- */

static clp_status check_counting(const char *function, clp_cuda_mempool mempool)
{
  clp_status status = clpi_cuda_mempool_check(function, mempool);
  if (status || clpi_cuda.version >= CLPI_CUDA_COUNTING_VERSION)
    return status;
  return clpi_error(CLP_NOT_SUPPORTED, 0, "%s requires CUDA 11.3, but the driver supports %d.%d",
                    function, clpi_cuda.version / 1000, clpi_cuda.version % 1000 / 10);
}

static clp_status read_usage(clp_cuda_mempool mempool, clp_cuda_mempool_usage *usage)
{
  clp_status status = get(mempool, CLPI_CUDA_MEMPOOL_RESERVED, &usage->reserved_bytes);
  if (!status)
    status = get(mempool, CLPI_CUDA_MEMPOOL_RESERVED_HIGH, &usage->peak_reserved_bytes);
  if (!status)
    status = get(mempool, CLPI_CUDA_MEMPOOL_USED, &usage->used_bytes);
  if (!status)
    status = get(mempool, CLPI_CUDA_MEMPOOL_USED_HIGH, &usage->peak_used_bytes);
  return status;
}

clp_status clp_cuda_mempool_get_usage(clp_cuda_mempool mempool, clp_cuda_mempool_usage *usage)
{
  CLPI_UNCANCELLED;
  if (!usage)
    return clpi_cuda_refuse_null("clp_cuda_mempool_get_usage", "usage");
  clp_status status = check_counting("clp_cuda_mempool_get_usage", mempool);
  clp_cuda_mempool_usage found = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (!status)
    status = read_usage(mempool, &found);
  if (status)
    return status;
  size_t least = offsetof(clp_cuda_mempool_usage, reserved_bytes) + sizeof(found.reserved_bytes);
  return clpi_results_write(usage, least, &found, sizeof(found), "clp_cuda_mempool_usage");
}

clp_status clp_cuda_mempool_reset_peaks(clp_cuda_mempool mempool)
{
  CLPI_UNCANCELLED;
  clp_status status = check_counting("clp_cuda_mempool_reset_peaks", mempool);
  uint64_t reset = 0; /* the only value that peaks can be set to */
  if (!status)
    status = set(mempool, CLPI_CUDA_MEMPOOL_RESERVED_HIGH, &reset);
  if (!status)
    status = set(mempool, CLPI_CUDA_MEMPOOL_USED_HIGH, &reset);
  return status;
}
