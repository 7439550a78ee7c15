/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "dispatch.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <string.h>

clpi_layer_settings clpi_settings = {.leading_bits = 4};

bool clpi_settings_read(void)
{
  const char *bits = secure_getenv("CLPOOL_LAYER_LEADING_BITS");
  const char *reports = secure_getenv("CLPOOL_LAYER_REPORT");
  clpi_settings.reports = reports && *reports;
  if (!bits)
    return true;
  char *end;
  unsigned long value = strtoul(bits, &end, 10);
  if (strspn(bits, "0123456789") != strlen(bits) || !*bits || value > CLP_MAX_LEADING_BITS) {
    clpi_layer_complain("CLPOOL_LAYER_LEADING_BITS is \"%.40s\", not 0 to %d: nothing is pooled",
                        bits, CLP_MAX_LEADING_BITS);
    return false;
  }
  clpi_settings.leading_bits = (unsigned)value;
  return true;
}
