/* SPDX-License-Identifier: MIT */
/* Public structs that begin with their size. */
#include "core/base/options.h"

#include "core/base/error.h"

#include <string.h>
#include <sys/param.h>

/* No struct is ever so large. A larger size was not initialized, and the library must not read or
 * zero that many bytes of the caller's memory. */
enum { MOST_BYTES = 4096 };

static clp_status read_size(const void *of, size_t least, const char *what, size_t *size)
{
  memcpy(size, of, sizeof(*size));
  if (*size < least)
    return clpi_error(
        CLP_INVALID_ARGUMENT, 0,
        "%s: struct_size is %zu; expected at least %zu; set it to the struct's sizeof", what, *size,
        least);
  if (*size > MOST_BYTES)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: struct_size is %zu; expected at most %d; set it to the struct's sizeof",
                      what, *size, MOST_BYTES);
  return CLP_SUCCESS;
}

clp_status clpi_options_read(void *to, size_t known, const void *from, size_t least,
                             const char *what)
{
  size_t size;
  if (!from)
    return CLP_SUCCESS;
  clp_status status = read_size(from, least, what, &size);
  if (status)
    return status;
  const unsigned char *bytes = from;
  for (size_t i = known; i < size; i++)
    if (bytes[i])
      return clpi_error(CLP_INVALID_ARGUMENT, 0,
                        "%s: the field at byte %zu is set, but this version of clpool lacks it",
                        what, i);
  memcpy(to, from, MIN(size, known));
  memcpy(to, &known, sizeof(known));
  return CLP_SUCCESS;
}

clp_status clpi_options_check_initialized(unsigned initialized, const char *what)
{
  if (initialized > 1)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: initialized is %u; fill the struct with its _INIT macro", what,
                      initialized);
  return CLP_SUCCESS;
}

clp_status clpi_results_write(void *to, size_t least, const void *from, size_t known,
                              const char *what)
{
  size_t size;
  clp_status status = read_size(to, least, what, &size);
  if (status)
    return status;
  unsigned char *bytes = to;
  size_t common = MIN(size, known);
  memcpy(bytes + sizeof(size), (const unsigned char *)from + sizeof(size), common - sizeof(size));
  memset(bytes + common, 0, size - common);
  return CLP_SUCCESS;
}
