/* SPDX-License-Identifier: MIT */
/* OpenCL's platforms and devices, and the allocators on them. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, which every version has */
#include "allocators.h"

#include "program.h"

#include <CL/cl_ext.h>
#include <clpool/opencl.h>
#include <stdio.h>
#include <string.h>

/* --- listing --- */

/* Zeros where the driver does not tell. */
static void ask(cl_device_id id, cl_device_info what, void *value, size_t bytes)
{
  if (clGetDeviceInfo(id, what, bytes, value, NULL))
    memset(value, 0, bytes);
}

/* A version text begins with "OpenCL major.minor". */
static unsigned read_version(const char *text)
{
  unsigned major, minor;
  return sscanf(text, "OpenCL %u.%u", &major, &minor) == 2 ? 100 * major + 10 * minor : 0;
}

static const char *ask_type(cl_device_id id)
{
  static const struct {
    cl_device_type flag;
    const char *name;
  } types[] = {{CL_DEVICE_TYPE_CPU, "CPU"},
               {CL_DEVICE_TYPE_GPU, "GPU"},
               {CL_DEVICE_TYPE_ACCELERATOR, "accelerator"},
               {CL_DEVICE_TYPE_CUSTOM, "custom"}};
  cl_device_type type;
  ask(id, CL_DEVICE_TYPE, &type, sizeof(type));
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (type & types[i].flag)
      return types[i].name;
  return NULL;
}

static void add_device(clpi_devices *list, unsigned number, cl_device_id id)
{
  clpi_device *device = clpi_devices_add(list);
  cl_uint alignment_bits;
  if (!device)
    return;
  device->backend = CLPI_OPENCL;
  device->platform = (unsigned)list->platform_count;
  device->number = number;
  device->handle = id;
  snprintf(device->id, sizeof(device->id), "%u.%u", device->platform, number);
  ask(id, CL_DEVICE_NAME, device->name, CLPI_TEXT_BYTES);
  ask(id, CL_DEVICE_VERSION, device->version, CLPI_TEXT_BYTES);
  ask(id, CL_DRIVER_VERSION, device->driver, CLPI_TEXT_BYTES);
  device->opencl = read_version(device->version);
  device->type = ask_type(id);
  ask(id, CL_DEVICE_GLOBAL_MEM_SIZE, &device->bytes, sizeof(cl_ulong));
  ask(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &device->max_block_bytes, sizeof(cl_ulong));
  ask(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &alignment_bits, sizeof(alignment_bits));
  device->alignment_bytes = alignment_bits / 8;
  if (device->opencl >= 200)
    ask(id, CL_DEVICE_SVM_CAPABILITIES, &device->svm, sizeof(device->svm));
}

static void add_platform(clpi_devices *list, cl_platform_id id)
{
  clpi_platform *platform = &list->platforms[list->platform_count];
  clGetPlatformInfo(id, CL_PLATFORM_NAME, CLPI_TEXT_BYTES, platform->name, NULL);
  clGetPlatformInfo(id, CL_PLATFORM_VERSION, CLPI_TEXT_BYTES, platform->version, NULL);
  clGetPlatformInfo(id, CL_PLATFORM_VENDOR, CLPI_TEXT_BYTES, platform->vendor, NULL);
  cl_device_id ids[CLPI_MOST_DEVICES];
  cl_uint count = 0;
  cl_int code = clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, CLPI_MOST_DEVICES, ids, &count);
  bool is_pocl = strcmp(platform->name, "Portable Computing Language") == 0;
  if (code == CL_DEVICE_NOT_FOUND && is_pocl)
    platform->missing = "PoCL needs a writable directory: set POCL_CACHE_DIR";
  else if (code)
    platform->missing =
        code == CL_DEVICE_NOT_FOUND ? "the driver found none" : "clGetDeviceIDs failed";
  for (unsigned i = 0; !code && i < count && i < CLPI_MOST_DEVICES; i++)
    add_device(list, i, ids[i]);
  list->platform_count++;
}

void clpi_list_opencl(clpi_devices *list)
{
  cl_platform_id ids[CLPI_MOST_PLATFORMS];
  cl_uint count = 0;
  cl_int code = clGetPlatformIDs(CLPI_MOST_PLATFORMS, ids, &count);
  for (cl_uint i = 0; !code && i < count && i < CLPI_MOST_PLATFORMS; i++)
    add_platform(list, ids[i]);
  list->missing[CLPI_OPENCL] = "there is no OpenCL device on this machine (see clpool info)";
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (!code && count == 0))
    list->missing[CLPI_OPENCL] = "there is no OpenCL driver (install your GPU vendor's or "
                                 "pocl-opencl-icd; check with clinfo)";
  else if (code)
    list->missing[CLPI_OPENCL] = "clGetPlatformIDs failed";
}

/* --- allocators --- */

static int failed(const char *call, int code)
{
  return clpi_complain("%s failed with OpenCL error %d", call, code);
}

int clpi_opencl_open(clpi_opened *opened)
{
  cl_device_id id = opened->device.handle;
  cl_int code;
  opened->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
  if (code)
    return failed("clCreateContext", code);
  opened->queue = clCreateCommandQueue(opened->context, id, 0, &code);
  return code ? failed("clCreateCommandQueue", code) : CLPI_EXIT_SUCCESS;
}

void clpi_opencl_close(clpi_opened *opened)
{
  if (opened->queue)
    clReleaseCommandQueue(opened->queue);
  if (opened->context)
    clReleaseContext(opened->context);
}

clp_status clpi_create_cl_deferred(const clpi_opened *where, clp_allocator **out)
{
  return clp_cl_deferred_allocator_create(where->context, CL_MEM_READ_WRITE, out);
}

clp_status clpi_create_cl_immediate(const clpi_opened *where, clp_allocator **out)
{
  return clp_cl_immediate_allocator_create(where->queue, CL_MEM_READ_WRITE, out);
}

/* Shared virtual memory has no queue: nothing here leaves work on it pending when it frees. */
clp_status clpi_create_cl_svm(const clpi_opened *where, clp_allocator **out)
{
  return clp_cl_svm_allocator_create(where->context, NULL, out);
}

/* --- what clpool bench does to blocks --- */

int clpi_opencl_fill(const clpi_opened *opened, bool is_svm, const clp_memory *blocks, size_t count,
                     size_t bytes)
{
  static const unsigned char zeros[16]; /* as many at once as drivers are quick with */
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < count && !code; i++)
    code = is_svm ? clEnqueueSVMMemFill(opened->queue, (void *)blocks[i], zeros, sizeof(zeros),
                                        bytes, 0, NULL, NULL)
                  : clEnqueueFillBuffer(opened->queue, (cl_mem)blocks[i], zeros, sizeof(zeros), 0,
                                        bytes, 0, NULL, NULL);
  if (code)
    return failed(is_svm ? "clEnqueueSVMMemFill" : "clEnqueueFillBuffer", code);
  code = clFinish(opened->queue);
  return code ? failed("clFinish", code) : CLPI_EXIT_SUCCESS;
}

int clpi_opencl_make_parts(clp_memory buffer, size_t bytes, size_t times)
{
  const cl_buffer_region region = {.origin = 0, .size = bytes};
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < times && !code; i++) {
    cl_mem part =
        clCreateSubBuffer((cl_mem)buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (!code)
      clReleaseMemObject(part);
  }
  return code ? failed("clCreateSubBuffer", code) : CLPI_EXIT_SUCCESS;
}
