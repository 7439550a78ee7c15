/* SPDX-License-Identifier: MIT */
/* clpool info: the version, the allocators, and every OpenCL platform and device, and CUDA's. */
#include "allocators.h"
#include "devices.h"
#include "json.h"
#include "options.h"
#include "quantities.h"

#include <clpool/version.h>
#include <stdio.h>

static void print_text(const char *label, const char *text)
{
  printf("    %-21s %s\n", label, text && *text ? text : "unknown");
}

static void print_bytes(const char *label, uint64_t bytes)
{
  print_text(label, bytes > 0 ? clpi_show_bytes(bytes).text : NULL);
}

/* Of CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, which is 1, and the bits above it. */
static const char *const svm_kinds[] = {"coarse-grain buffer", "fine-grain buffer",
                                        "fine-grain system", "atomics"};

enum { SVM_KINDS = sizeof(svm_kinds) / sizeof(svm_kinds[0]) };

static void print_svm(const clpi_device *device)
{
  const char *separator = "";
  printf("    %-21s ", "SVM");
  for (size_t i = 0; i < SVM_KINDS; i++)
    if (device->svm >> i & 1) {
      printf("%s%s", separator, svm_kinds[i]);
      separator = ", ";
    }
  puts(device->svm ? "" : device->opencl >= 200 ? "none" : "none (before OpenCL 2.0)");
}

static void print_device(const clpi_device *device)
{
  printf("  device %s: %s\n", device->id, *device->name ? device->name : "unknown");
  if (device->backend == CLPI_CUDA) {
    print_bytes("memory", device->bytes);
    print_text("memory pools", device->has_mempools ? "yes" : "no");
    return;
  }
  print_text("version", device->version);
  print_text("driver", device->driver);
  print_text("type", device->type);
  print_bytes("global memory", device->bytes);
  print_bytes("largest block", device->max_block_bytes);
  print_bytes("base alignment", device->alignment_bytes);
  print_svm(device);
  print_text("immediate allocation", device->opencl >= 120 ? "clEnqueueMigrateMemObjects"
                                                           : "a small write (before OpenCL 1.2)");
}

static void print_platform(const clpi_platform *platform, size_t number)
{
  printf("\nplatform %zu: %s\n", number, *platform->name ? platform->name : "unknown");
  print_text("version", platform->version);
  print_text("vendor", platform->vendor);
  if (platform->missing)
    printf("  no devices (%s)\n", platform->missing);
}

static void print_all(const clpi_devices *list)
{
  printf("clpool %s\nallocators:\n", clp_version());
  for (size_t i = 0; i < CLPI_ALLOCATOR_KINDS; i++)
    printf("  %-13s %s\n", clpi_allocators[i].name,
           clpi_allocators[i].create ? clpi_allocators[i].calls
                                     : "missing: this clpool was built without OpenCL");
  if (list->platform_count == 0)
    printf("\nOpenCL: none: %s\n", list->missing[CLPI_OPENCL]);
  const clpi_device *device = list->devices, *end = device + list->count;
  for (size_t i = 0; i < list->platform_count; i++) {
    print_platform(&list->platforms[i], i);
    for (; device < end && device->backend == CLPI_OPENCL && device->platform == i; device++)
      print_device(device);
  }
  printf("\nCUDA%s%s\n", *list->cuda_version ? " " : ": none: ",
         *list->cuda_version ? list->cuda_version : list->missing[CLPI_CUDA]);
  for (; device < end; device++)
    print_device(device);
}

/* Empty texts are null. */
static void write_text(clpi_json *json, const char *key, const char *text)
{
  clpi_json_string(json, key, text && *text ? text : NULL);
}

static void write_opencl_device(clpi_json *json, const clpi_device *device)
{
  clpi_json_string(json, "id", device->id);
  write_text(json, "name", device->name);
  write_text(json, "version", device->version);
  write_text(json, "driver", device->driver);
  write_text(json, "type", device->type);
  clpi_json_unsigned(json, "global_memory_bytes", device->bytes);
  clpi_json_unsigned(json, "max_allocation_bytes", device->max_block_bytes);
  clpi_json_unsigned(json, "base_alignment_bytes", device->alignment_bytes);
  clpi_json_begin_array(json, "svm");
  for (size_t i = 0; i < SVM_KINDS; i++)
    if (device->svm >> i & 1)
      clpi_json_string(json, NULL, svm_kinds[i]);
  clpi_json_end_array(json);
  clpi_json_bool(json, "migrates", device->opencl >= 120);
}

static void write_cuda_device(clpi_json *json, const clpi_device *device)
{
  clpi_json_unsigned(json, "id", device->number);
  write_text(json, "name", device->name);
  clpi_json_unsigned(json, "memory_bytes", device->bytes);
  clpi_json_bool(json, "memory_pools", device->has_mempools);
}

/* Those of one OpenCL platform, or of CUDA, whose platform is 0. */
static void write_devices(clpi_json *json, const clpi_devices *list, clpi_backend backend,
                          size_t platform)
{
  clpi_json_begin_array(json, "devices");
  for (size_t i = 0; i < list->count; i++) {
    const clpi_device *device = &list->devices[i];
    if (device->backend != backend || device->platform != platform)
      continue;
    clpi_json_begin_object(json, NULL);
    if (backend == CLPI_OPENCL)
      write_opencl_device(json, device);
    else
      write_cuda_device(json, device);
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
}

static void print_json(const clpi_devices *list)
{
  clpi_json json = clpi_json_start(stdout);
  clpi_json_begin_object(&json, NULL);
  clpi_json_string(&json, "version", clp_version());
  clpi_json_begin_array(&json, "allocators");
  for (size_t i = 0; i < CLPI_ALLOCATOR_KINDS; i++)
    if (clpi_allocators[i].create)
      clpi_json_string(&json, NULL, clpi_allocators[i].name);
  clpi_json_end_array(&json);
  clpi_json_bool(&json, "opencl", clpi_allocators[CLPI_ALLOCATOR_CL_DEFERRED].create != NULL);
  clpi_json_begin_array(&json, "platforms");
  for (size_t i = 0; i < list->platform_count; i++) {
    const clpi_platform *platform = &list->platforms[i];
    clpi_json_begin_object(&json, NULL);
    clpi_json_unsigned(&json, "id", i);
    write_text(&json, "name", platform->name);
    write_text(&json, "version", platform->version);
    write_text(&json, "vendor", platform->vendor);
    write_devices(&json, list, CLPI_OPENCL, i);
    clpi_json_end_object(&json);
  }
  clpi_json_end_array(&json);
  clpi_json_begin_object(&json, "cuda");
  write_text(&json, "version", list->cuda_version);
  clpi_json_string(&json, "missing", *list->cuda_version ? NULL : list->missing[CLPI_CUDA]);
  write_devices(&json, list, CLPI_CUDA, 0);
  clpi_json_end_object(&json);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}

static int run(clpi_arguments *arguments)
{
  clpi_devices list = {0};
  clpi_list_opencl(&list);
  clpi_list_cuda(&list);
  if (arguments->as_json)
    print_json(&list);
  else
    print_all(&list);
  return CLPI_EXIT_SUCCESS;
}

const clpi_command clpi_info_command = {
    .bit = CLPI_INFO,
    .name = "info",
    .summary = "show the allocators, and the OpenCL and CUDA devices of this machine",
    .usage = "[OPTION]...",
    .about =
        "Shows the version, the allocators, every OpenCL platform and device with its memory,\n"
        "largest block, alignment and what else matters for allocating, and every CUDA\n"
        "device with its memory. If there are none, it says why. A device's number, such as\n"
        "0.0, or 0 on CUDA, is what --device of the other commands takes.\n",
    .examples = "  clpool info\n"
                "  clpool info --json\n",
    .run = run,
};
