/* SPDX-License-Identifier: MIT */
/* The limit on what a pool manages: set, and read from the environment. */
#include "core/pool/limit.h"

#include "core/base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "CLPOOL_MEMORY_LIMIT";

/* A fraction that is not 0 never becomes 0 bytes, which would mean no limit. */
static size_t part_of_device(size_t device_bytes, double fraction)
{
  size_t bytes = fraction < 1.0 ? (size_t)(fraction * (double)device_bytes) : device_bytes;
  return bytes || fraction <= 0.0 ? bytes : 1;
}

clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit)
{
  if (!(fraction >= 0.0 && fraction <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "a limit of %g is not between 0 and 1", fraction);
  if (!device_bytes && fraction > 0.0)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "a limit as a part of the device's memory: %s does not know how much it has",
                      whose);
  *limit = part_of_device(device_bytes, fraction);
  return CLP_SUCCESS;
}

static clp_status refuse_variable(const char *text)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0,
                    "%s is \"%s\"; expected bytes (1073741824, 512M, 2G) or a part of the device's "
                    "memory (40%%)",
                    variable, text);
}

/* Reads digits with a point or without, as strtod does where the locale has a point. */
static double parse_decimal(const char *text, const char **end)
{
  double digits = 0.0, scale = 1.0;
  for (; isdigit((unsigned char)*text); text++)
    digits = 10.0 * digits + (*text - '0');
  if (*text == '.')
    for (text++; isdigit((unsigned char)*text); text++) {
      digits = 10.0 * digits + (*text - '0');
      scale *= 10.0;
    }
  *end = text;
  return digits / scale;
}

static clp_status parse_percent(const char *whose, size_t device_bytes, const char *text,
                                size_t *limit)
{
  const char *end;
  double percent = parse_decimal(text, &end);
  if (strcmp(end, "%") != 0 || !(percent <= 100.0))
    return refuse_variable(text);
  if (!device_bytes)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "%s is \"%s\", but %s does not know its device's memory", variable, text,
                      whose);
  *limit = part_of_device(device_bytes, percent / 100.0);
  return CLP_SUCCESS;
}

static clp_status parse_bytes(const char *text, size_t *limit)
{
  static const char units[] = "KMGT";
  char *end;
  errno = 0;
  unsigned long long count = strtoull(text, &end, 10);
  const char *unit = *end ? strchr(units, *end) : NULL;
  unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
  end += unit != NULL;
  if (*end || errno || count > (SIZE_MAX >> shift))
    return refuse_variable(text);
  *limit = (size_t)count << shift;
  return CLP_SUCCESS;
}

clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit)
{
  *limit = 0;
  const char *text = secure_getenv(variable);
  if (!text)
    return CLP_SUCCESS;
  /* Digits, a point, one unit: neither the blanks and signs nor the exponents and names (inf, nan,
   * 0x1p3) that the C library would read as well. */
  if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.KMGT%") != strlen(text))
    return refuse_variable(text);
  return strchr(text, '%') ? parse_percent(whose, device_bytes, text, limit)
                           : parse_bytes(text, limit);
}

clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_set_limit: pool is NULL");
  pthread_mutex_lock(&pool->stock.lock);
  pool->limit = bytes;
  pthread_mutex_unlock(&pool->stock.lock);
  return CLP_SUCCESS;
}

clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_set_limit_fraction: pool is NULL");
  const clp_allocator *allocator = pool->allocator;
  size_t limit = 0;
  clp_status status =
      clpi_limit_from_fraction(allocator->name, allocator->ops.device_bytes, fraction, &limit);
  return status ? status : clp_pool_set_limit(pool, limit);
}

size_t clp_pool_get_limit(const clp_pool *pool)
{
  if (!pool)
    return 0;
  pthread_mutex_t *lock = (pthread_mutex_t *)&pool->stock.lock;
  pthread_mutex_lock(lock);
  size_t limit = pool->limit;
  pthread_mutex_unlock(lock);
  return limit;
}
