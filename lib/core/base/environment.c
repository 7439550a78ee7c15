/* SPDX-License-Identifier: MIT */
/* Variables of the environment as numbers, parts and bytes. */
#include "core/base/environment.h"

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <ctype.h>
#include <stdlib.h>

clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number)
{
  const char *text = secure_getenv(variable);
  if (!text)
    return CLP_SUCCESS;
  unsigned found = 0;
  const char *end = text;
  for (; isdigit((unsigned char)*end) && found <= most; end++)
    found = 10 * found + (unsigned)(*end - '0');
  if (end == text || *end || found > most)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s is \"%s\"; expected a number from 0 to %u",
                      variable, text, most);
  *number = found;
  return CLP_SUCCESS;
}

clp_status clpi_environment_part(const char *variable, double *part)
{
  const char *text = secure_getenv(variable);
  if (text && !clpi_part_parse(text, part))
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s is \"%s\"; expected a part from 0 to 1, such as 0.016", variable, text);
  return CLP_SUCCESS;
}

clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes)
{
  const char *text = secure_getenv(variable);
  clp_status status = text ? clp_bytes_parse(text, device_bytes, bytes) : CLP_SUCCESS;
  if (status == CLP_NOT_SUPPORTED)
    return clpi_error(status, 0, "%s is \"%s\", but %s does not know its device's memory", variable,
                      text, whose);
  if (status)
    return clpi_error(status, 0,
                      "%s is \"%s\"; expected bytes (1073741824, 512M, 1.5G) or a part of the "
                      "device's memory (40%%)",
                      variable, text);
  return CLP_SUCCESS;
}
