/* SPDX-License-Identifier: MIT */
/* clpool info: the version, the allocators, and every OpenCL platform and device, and CUDA's. */
#include "allocators.h"
#include "figures.h"
#include "json.h"
#include "options.h"

#include <clpool/version.h>
#include <stdio.h>
#include <string.h>

/* Each tells one figure: to `json`, or with NULL to people. What is empty is null, or unknown. */
static void tell_text(clpi_json *json, const char *key, const char *title, const char *text)
{
  const char *known = text && *text ? text : NULL;
  if (json)
    clpi_json_string(json, key, known);
  else
    printf("    %-21s %s\n", title, known ? known : "unknown");
}

static void tell_bytes(clpi_json *json, const char *key, const char *title, uint64_t bytes)
{
  if (json)
    clpi_json_unsigned(json, key, bytes);
  else
    tell_text(NULL, key, title, bytes > 0 ? clpi_show_bytes(bytes).text : NULL);
}

static void tell_bool(clpi_json *json, const char *key, const char *title, bool value)
{
  if (json)
    clpi_json_bool(json, key, value);
  else
    tell_text(NULL, key, title, value ? "yes" : "no");
}

static void tell_svm(clpi_json *json, uint64_t kinds)
{
  /* Of CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, which is 1, and the bits above it. */
  static const char *const names[] = {"coarse-grain buffer", "fine-grain buffer",
                                      "fine-grain system", "atomics"};
  char text[80] = "";
  if (json)
    clpi_json_begin(json, "svm", '[');
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (kinds >> i & 1) {
      if (json)
        clpi_json_string(json, NULL, names[i]);
      strcat(strcat(text, *text ? ", " : ""), names[i]);
    }
  if (json)
    clpi_json_end(json, ']');
  else
    tell_text(NULL, NULL, "SVM", *text ? text : "none");
}

static void tell_device(clpi_json *json, const clpi_device *device)
{
  if (json) {
    clpi_json_begin(json, NULL, '{');
    if (device->backend == CLPI_CUDA)
      clpi_json_unsigned(json, "id", device->number);
    else
      clpi_json_string(json, "id", device->id);
    tell_text(json, "name", NULL, device->name);
  } else {
    printf("  device %s: %s\n", device->id, *device->name ? device->name : "unknown");
  }
  if (device->backend == CLPI_CUDA) {
    tell_bytes(json, "memory_bytes", "memory", device->bytes);
    tell_bool(json, "memory_pools", "memory pools", device->has_mempools);
  } else {
    tell_text(json, "version", "version", device->version);
    tell_text(json, "driver", "driver", device->driver);
    tell_text(json, "type", "type", device->type);
    tell_bytes(json, "global_memory_bytes", "global memory", device->bytes);
    tell_bytes(json, "max_allocation_bytes", "largest block", device->max_block_bytes);
    tell_bytes(json, "base_alignment_bytes", "base alignment", device->alignment_bytes);
    tell_svm(json, device->svm);
    tell_bool(json, "migrates", "migrates memory", device->opencl >= 120);
  }
  if (json)
    clpi_json_end(json, '}');
}

/* Those of one OpenCL platform, or of CUDA, whose platform is 0. */
static void tell_devices(clpi_json *json, const clpi_devices *list, clpi_backend backend,
                         size_t platform)
{
  if (json)
    clpi_json_begin(json, "devices", '[');
  for (const clpi_device *device = list->devices; device < list->devices + list->count; device++)
    if (device->backend == backend && device->platform == platform)
      tell_device(json, device);
  if (json)
    clpi_json_end(json, ']');
}

static void tell_platform(clpi_json *json, const clpi_devices *list, size_t number)
{
  const clpi_platform *platform = &list->platforms[number];
  if (json) {
    clpi_json_begin(json, NULL, '{');
    clpi_json_unsigned(json, "id", number);
    tell_text(json, "name", NULL, platform->name);
  } else {
    printf("\nplatform %zu: %s\n", number, *platform->name ? platform->name : "unknown");
  }
  tell_text(json, "version", "version", platform->version);
  tell_text(json, "vendor", "vendor", platform->vendor);
  if (!json && platform->missing)
    printf("  no devices (%s)\n", platform->missing);
  tell_devices(json, list, CLPI_OPENCL, number);
  if (json)
    clpi_json_end(json, '}');
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
  for (size_t i = 0; i < list->platform_count; i++)
    tell_platform(NULL, list, i);
  printf("\nCUDA%s%s\n", *list->cuda_version ? " " : ": none: ",
         *list->cuda_version ? list->cuda_version : list->missing[CLPI_CUDA]);
  tell_devices(NULL, list, CLPI_CUDA, 0);
}

static void print_json(const clpi_devices *list)
{
  clpi_json json = {.file = stdout};
  clpi_json_begin(&json, NULL, '{');
  clpi_json_string(&json, "version", clp_version());
  clpi_json_begin(&json, "allocators", '[');
  for (size_t i = 0; i < CLPI_ALLOCATOR_KINDS; i++)
    if (clpi_allocators[i].create)
      clpi_json_string(&json, NULL, clpi_allocators[i].name);
  clpi_json_end(&json, ']');
  clpi_json_bool(&json, "opencl", clpi_allocators[CLPI_ALLOCATOR_CL_DEFERRED].create != NULL);
  clpi_json_begin(&json, "platforms", '[');
  for (size_t i = 0; i < list->platform_count; i++)
    tell_platform(&json, list, i);
  clpi_json_end(&json, ']');
  clpi_json_begin(&json, "cuda", '{');
  tell_text(&json, "version", NULL, list->cuda_version);
  clpi_json_string(&json, "missing", *list->cuda_version ? NULL : list->missing[CLPI_CUDA]);
  tell_devices(&json, list, CLPI_CUDA, 0);
  clpi_json_end(&json, '}');
  clpi_json_end(&json, '}');
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
        "Shows the version, the allocators, and each OpenCL and CUDA device with what matters\n"
        "for allocating, such as its memory. If there is none, it says why. A device's number,\n"
        "such as 0.0, or 0 for CUDA, is a value for --device of the other commands.\n",
    .examples = "  clpool info\n"
                "  clpool info --json\n",
    .run = run,
};
