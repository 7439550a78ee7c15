/* SPDX-License-Identifier: MIT */
/* clpool info: the version, the allocators, and every OpenCL platform and device, and CUDA's. */
#include "allocators.h"
#include "cuda_devices.h"
#include "devices.h"
#include "json.h"
#include "options.h"
#include "quantities.h"
#include "wrapped.h"

#include <clpool/version.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *or_unknown(const char *text)
{
  return text ? text : "unknown";
}

static void print_text(const char *label, const char *text)
{
  enum { COLUMN = 26 };
  printf("    %-21s ", label);
  clpi_print_wrapped(or_unknown(text), COLUMN, COLUMN);
}

static void print_bytes(const char *label, uint64_t bytes)
{
  printf("    %-21s %s\n", label, bytes > 0 ? clpi_show_bytes(bytes).text : "unknown");
}

static void print_svm(const clpi_device *device)
{
  printf("    %-21s ", "SVM");
  for (size_t i = 0; i < device->svm_count; i++)
    printf("%s%s", i > 0 ? ", " : "", device->svm[i]);
  if (device->svm_count == 0)
    fputs(device->has_svm ? "none" : "none (before OpenCL 2.0)", stdout);
  putchar('\n');
}

static void print_device(const clpi_device *device, size_t platform, size_t number)
{
  printf("  device %zu.%zu: %s\n", platform, number, or_unknown(device->name));
  print_text("version", device->version);
  print_text("driver", device->driver);
  print_text("type", device->type);
  print_bytes("global memory", device->global_bytes);
  print_bytes("largest block", device->max_block_bytes);
  print_bytes("base alignment", device->alignment_bytes);
  print_svm(device);
  printf("    %-21s %s\n", "immediate allocation",
         device->migrates ? "clEnqueueMigrateMemObjects" : "a small write (before OpenCL 1.2)");
}

/* PoCL is there without its devices where it cannot write what it compiles. */
static void print_no_devices(const clpi_platform *platform)
{
  bool is_pocl = platform->name && strcmp(platform->name, "Portable Computing Language") == 0;
  puts(is_pocl
           ? "  no devices (PoCL has none without a folder that it can write to: POCL_CACHE_DIR)"
           : "  no devices");
}

static void print_all(const clpi_platforms *platforms)
{
  printf("clpool %s\nallocators:", clp_version());
  for (size_t i = 0; i < clpi_allocator_name_count(); i++)
    printf("%s %s", i > 0 ? "," : "", clpi_allocator_names[i]);
  puts("");
  if (!clpi_has_opencl)
    puts("\nBuilt without OpenCL.");
  else if (platforms->count == 0)
    puts("\nNo OpenCL platform was found: no driver is installed.");
  for (size_t i = 0; i < platforms->count; i++) {
    const clpi_platform *platform = &platforms->platforms[i];
    printf("\nplatform %zu: %s\n", i, or_unknown(platform->name));
    print_text("version", platform->version);
    print_text("vendor", platform->vendor);
    if (platform->device_count == 0)
      print_no_devices(platform);
    for (size_t j = 0; j < platform->device_count; j++)
      print_device(&platform->devices[j], i, j);
  }
  clpi_cuda_devices_print();
}

static void write_device(clpi_json *json, const clpi_device *device, size_t platform, size_t number)
{
  char id[48];
  snprintf(id, sizeof(id), "%zu.%zu", platform, number);
  clpi_json_begin_object(json, NULL);
  clpi_json_string(json, "id", id);
  clpi_json_string(json, "name", device->name);
  clpi_json_string(json, "version", device->version);
  clpi_json_string(json, "driver", device->driver);
  clpi_json_string(json, "type", device->type);
  clpi_json_unsigned(json, "global_memory_bytes", device->global_bytes);
  clpi_json_unsigned(json, "max_allocation_bytes", device->max_block_bytes);
  clpi_json_unsigned(json, "base_alignment_bytes", device->alignment_bytes);
  clpi_json_begin_array(json, "svm");
  for (size_t i = 0; i < device->svm_count; i++)
    clpi_json_string(json, NULL, device->svm[i]);
  clpi_json_end_array(json);
  clpi_json_bool(json, "migrates", device->migrates);
  clpi_json_end_object(json);
}

static void write_platform(clpi_json *json, const clpi_platform *platform, size_t number)
{
  clpi_json_begin_object(json, NULL);
  clpi_json_unsigned(json, "id", number);
  clpi_json_string(json, "name", platform->name);
  clpi_json_string(json, "version", platform->version);
  clpi_json_string(json, "vendor", platform->vendor);
  clpi_json_begin_array(json, "devices");
  for (size_t i = 0; i < platform->device_count; i++)
    write_device(json, &platform->devices[i], number, i);
  clpi_json_end_array(json);
  clpi_json_end_object(json);
}

static void print_json(const clpi_platforms *platforms)
{
  clpi_json json = clpi_json_start(stdout);
  clpi_json_begin_object(&json, NULL);
  clpi_json_string(&json, "version", clp_version());
  clpi_json_begin_array(&json, "allocators");
  for (size_t i = 0; i < clpi_allocator_name_count(); i++)
    clpi_json_string(&json, NULL, clpi_allocator_names[i]);
  clpi_json_end_array(&json);
  clpi_json_bool(&json, "opencl", clpi_has_opencl);
  clpi_json_begin_array(&json, "platforms");
  for (size_t i = 0; i < platforms->count; i++)
    write_platform(&json, &platforms->platforms[i], i);
  clpi_json_end_array(&json);
  clpi_cuda_devices_write(&json);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}

static int run(clpi_arguments *arguments)
{
  clpi_platforms platforms;
  int failed = clpi_platforms_read(&platforms);
  if (failed)
    return failed;
  if (arguments->as_json)
    print_json(&platforms);
  else
    print_all(&platforms);
  clpi_platforms_free(&platforms);
  return CLPI_EXIT_SUCCESS;
}

const clpi_command clpi_info_command = {
    .bit = CLPI_INFO,
    .name = "info",
    .summary = "show the allocators, and the OpenCL and CUDA devices of this machine",
    .usage = "[OPTION]...",
    .about = "Shows the version, the allocators that are built in, and every OpenCL platform and\n"
             "device: memory, largest block, alignment, and what matters for allocating on it; "
             "and\n"
             "every CUDA device with its memory, or why there is none. A device's number, such as\n"
             "0.0, or 0 on CUDA, is what --device of the other commands takes.\n",
    .examples = "  clpool info\n"
                "  clpool info --json\n",
    .run = run,
};
