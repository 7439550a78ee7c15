/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "dispatch.h"

#include <clpool/bin.h>
#include <clpool/bytes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

clpi_layer_settings clpi_settings = {.leading_bits = 4};

static bool read_bits(void)
{
  const char *bits = secure_getenv("CLPOOL_LAYER_LEADING_BITS");
  char *end;
  if (!bits)
    return true;
  unsigned long value = strtoul(bits, &end, 10);
  if (strspn(bits, "0123456789") != strlen(bits) || !*bits || value > CLP_MAX_LEADING_BITS) {
    clpi_layer_complain(
        "CLPOOL_LAYER_LEADING_BITS is \"%.40s\"; expected 0 to %d: nothing is pooled", bits,
        CLP_MAX_LEADING_BITS);
    return false;
  }
  clpi_settings.leading_bits = (unsigned)value;
  return true;
}

static bool read_size(const char *variable, char **size)
{
  const char *text = secure_getenv(variable);
  size_t bytes;
  if (!text)
    return true;
  if (clp_bytes_parse(text, SIZE_MAX, &bytes)) {
    clpi_layer_complain(
        "%s is \"%.40s\"; expected a size such as 512M, 1.5G or 40%%: nothing is pooled", variable,
        text);
    return false;
  }
  *size = strdup(text);
  return *size;
}

bool clpi_settings_read(void)
{
  const char *reports = secure_getenv("CLPOOL_LAYER_REPORT");
  clpi_settings.reports = reports && *reports;
  return read_bits() && read_size("CLPOOL_LAYER_LIMIT", &clpi_settings.limit) &&
         read_size("CLPOOL_LAYER_HOLD", &clpi_settings.hold);
}

size_t clpi_setting_bytes(const char *size, size_t device_bytes)
{
  size_t bytes = SIZE_MAX;
  if (size)
    (void)clp_bytes_parse(size, device_bytes, &bytes);
  return bytes;
}
