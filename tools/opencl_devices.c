/* SPDX-License-Identifier: MIT */
/* Every OpenCL platform and device, and what each tells of itself. */
#include "devices.h"
#include "opencl_query.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

const bool clpi_has_opencl = true;

static uint64_t ask_alignment(cl_device_id device)
{
  cl_uint bits = 0;
  cl_int code = clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
  return code ? 0 : bits / 8;
}

static const char *ask_type(cl_device_id device)
{
  switch (clpi_cl_device_number(device, CL_DEVICE_TYPE) & ~(uint64_t)CL_DEVICE_TYPE_DEFAULT) {
  case CL_DEVICE_TYPE_CPU:
    return "CPU";
  case CL_DEVICE_TYPE_GPU:
    return "GPU";
  case CL_DEVICE_TYPE_ACCELERATOR:
    return "accelerator";
  case CL_DEVICE_TYPE_CUSTOM:
    return "custom";
  default:
    return NULL;
  }
}

static void read_svm(clpi_device *device, cl_device_id id)
{
  static const struct {
    cl_device_svm_capabilities flag;
    const char *name;
  } kinds[CLPI_SVM_KINDS] = {{CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "coarse-grain buffer"},
                             {CL_DEVICE_SVM_FINE_GRAIN_BUFFER, "fine-grain buffer"},
                             {CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, "fine-grain system"},
                             {CL_DEVICE_SVM_ATOMICS, "atomics"}};
  device->has_svm = clpi_cl_is_version(device->version, 2, 0);
  uint64_t flags = device->has_svm ? clpi_cl_device_number(id, CL_DEVICE_SVM_CAPABILITIES) : 0;
  for (size_t i = 0; i < CLPI_SVM_KINDS; i++)
    if (flags & kinds[i].flag)
      device->svm[device->svm_count++] = kinds[i].name;
}

static void read_device(clpi_device *device, cl_device_id id)
{
  device->name = clpi_cl_device_text(id, CL_DEVICE_NAME);
  device->version = clpi_cl_device_text(id, CL_DEVICE_VERSION);
  device->driver = clpi_cl_device_text(id, CL_DRIVER_VERSION);
  device->type = ask_type(id);
  device->global_bytes = clpi_cl_device_number(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device->max_block_bytes = clpi_cl_device_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device->alignment_bytes = ask_alignment(id);
  device->migrates = clpi_cl_is_version(device->version, 1, 2);
  read_svm(device, id);
}

static cl_int read_platform(clpi_platform *platform, cl_platform_id id)
{
  platform->name = clpi_cl_platform_text(id, CL_PLATFORM_NAME);
  platform->version = clpi_cl_platform_text(id, CL_PLATFORM_VERSION);
  platform->vendor = clpi_cl_platform_text(id, CL_PLATFORM_VENDOR);
  cl_device_id *ids;
  cl_uint count;
  cl_int code = clpi_cl_list_devices(id, &ids, &count);
  if (code || count == 0)
    return code;
  platform->devices = calloc(count, sizeof(clpi_device));
  if (platform->devices)
    platform->device_count = count;
  else
    code = CL_OUT_OF_HOST_MEMORY;
  for (size_t i = 0; i < platform->device_count; i++)
    read_device(&platform->devices[i], ids[i]);
  free(ids);
  return code;
}

int clpi_platforms_read(clpi_platforms *out)
{
  *out = (clpi_platforms){0};
  cl_platform_id *ids;
  cl_uint count;
  cl_int code = clpi_cl_list_platforms(&ids, &count);
  if (code)
    return clpi_cl_failed("clGetPlatformIDs", code);
  if (count == 0)
    return CLPI_EXIT_SUCCESS;
  out->platforms = calloc(count, sizeof(clpi_platform));
  if (out->platforms)
    out->count = count;
  else
    code = CL_OUT_OF_HOST_MEMORY;
  for (size_t i = 0; i < out->count && !code; i++)
    code = read_platform(&out->platforms[i], ids[i]);
  free(ids);
  if (!code)
    return CLPI_EXIT_SUCCESS;
  clpi_platforms_free(out);
  return clpi_cl_failed("clGetDeviceIDs", code);
}

static void free_device(clpi_device *device)
{
  free(device->name);
  free(device->version);
  free(device->driver);
}

void clpi_platforms_free(clpi_platforms *platforms)
{
  for (size_t i = 0; i < platforms->count; i++) {
    clpi_platform *platform = &platforms->platforms[i];
    for (size_t j = 0; j < platform->device_count; j++)
      free_device(&platform->devices[j]);
    free(platform->devices);
    free(platform->name);
    free(platform->version);
    free(platform->vendor);
  }
  free(platforms->platforms);
  *platforms = (clpi_platforms){0};
}
