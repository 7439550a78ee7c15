/* SPDX-License-Identifier: MIT */
/* What the CUDA devices tell of themselves: a driver that is not there is no failure of clpool
 * info. */
#include "cuda_devices.h"

#include "quantities.h"
#include "wrapped.h"

#include <clpool/cuda.h>

enum { NAME_BYTES = 256 };

/* The name is empty and the memory 0 where the driver does not tell. */
typedef struct cuda_device {
  char name[NAME_BYTES];
  size_t bytes;
  bool has_mempools;
} cuda_device;

/* The driver's version, "12.4". */
typedef struct shown_version {
  char text[32];
} shown_version;

static shown_version show_version(int version)
{
  shown_version shown;
  snprintf(shown.text, sizeof(shown.text), "%d.%d", version / 1000, version % 1000 / 10);
  return shown;
}

static clp_status ask_driver(int *version, int *count)
{
  clp_status status = clp_cuda_driver_version(version);
  return status ? status : clp_cuda_device_count(count);
}

static cuda_device ask_device(int ordinal)
{
  cuda_device device = {0};
  clp_cuda_device_name(ordinal, device.name, sizeof(device.name));
  clp_cuda_device_memory(ordinal, &device.bytes);
  clp_cuda_device_supports_mempools(ordinal, &device.has_mempools);
  return device;
}

void clpi_cuda_devices_print(void)
{
  int version, count;
  if (ask_driver(&version, &count)) {
    fputs("\nCUDA: none: ", stdout);
    clpi_print_wrapped(clp_last_error()->message, 12, 2);
    return;
  }
  printf("\nCUDA %s\n", show_version(version).text);
  for (int i = 0; i < count; i++) {
    cuda_device device = ask_device(i);
    printf("  device %d: %s\n", i, *device.name ? device.name : "unknown");
    printf("    %-21s %s\n", "memory",
           device.bytes > 0 ? clpi_show_bytes(device.bytes).text : "unknown");
    printf("    %-21s %s\n", "memory pools", device.has_mempools ? "yes" : "no");
  }
}

static void write_device(clpi_json *json, int ordinal)
{
  cuda_device device = ask_device(ordinal);
  clpi_json_begin_object(json, NULL);
  clpi_json_unsigned(json, "id", (uint64_t)ordinal);
  clpi_json_string(json, "name", *device.name ? device.name : NULL);
  clpi_json_unsigned(json, "memory_bytes", device.bytes);
  clpi_json_bool(json, "memory_pools", device.has_mempools);
  clpi_json_end_object(json);
}

void clpi_cuda_devices_write(clpi_json *json)
{
  int version, count = 0;
  bool is_there = !ask_driver(&version, &count);
  clpi_json_begin_object(json, "cuda");
  clpi_json_string(json, "version", is_there ? show_version(version).text : NULL);
  clpi_json_string(json, "missing", is_there ? NULL : clp_last_error()->message);
  clpi_json_begin_array(json, "devices");
  for (int i = 0; i < count; i++)
    write_device(json, i);
  clpi_json_end_array(json);
  clpi_json_end_object(json);
}
