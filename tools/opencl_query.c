/* SPDX-License-Identifier: MIT */
/* Asking OpenCL twice: how much is there, then what. */
#include "opencl_query.h"

#include "program.h"

#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>

/* What the driver loader says when it has no driver: no failure here. */
static cl_int none_is_no_failure(cl_int code, cl_int none, cl_uint *count)
{
  if (code != none)
    return code;
  *count = 0;
  return CL_SUCCESS;
}

cl_int clpi_cl_list_platforms(cl_platform_id **out, cl_uint *count)
{
  *out = NULL;
  cl_int code =
      none_is_no_failure(clGetPlatformIDs(0, NULL, count), CL_PLATFORM_NOT_FOUND_KHR, count);
  if (code || *count == 0)
    return code;
  cl_platform_id *platforms = calloc(*count, sizeof(cl_platform_id));
  if (!platforms)
    return CL_OUT_OF_HOST_MEMORY;
  code = clGetPlatformIDs(*count, platforms, NULL);
  if (code)
    free(platforms);
  else
    *out = platforms;
  return code;
}

cl_int clpi_cl_list_devices(cl_platform_id platform, cl_device_id **out, cl_uint *count)
{
  *out = NULL;
  cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, count);
  code = none_is_no_failure(code, CL_DEVICE_NOT_FOUND, count);
  if (code || *count == 0)
    return code;
  cl_device_id *devices = calloc(*count, sizeof(cl_device_id));
  if (!devices)
    return CL_OUT_OF_HOST_MEMORY;
  code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, *count, devices, NULL);
  if (code)
    free(devices);
  else
    *out = devices;
  return code;
}

typedef cl_int (*text_question)(const void *object, cl_uint what, size_t bytes, void *out,
                                size_t *needed);

static cl_int ask_platform(const void *object, cl_uint what, size_t bytes, void *out,
                           size_t *needed)
{
  return clGetPlatformInfo((cl_platform_id)object, what, bytes, out, needed);
}

static cl_int ask_device(const void *object, cl_uint what, size_t bytes, void *out, size_t *needed)
{
  return clGetDeviceInfo((cl_device_id)object, what, bytes, out, needed);
}

static char *read_text(text_question ask, const void *object, cl_uint what)
{
  size_t bytes;
  if (ask(object, what, 0, NULL, &bytes) || bytes == 0)
    return NULL;
  char *text = calloc(bytes, 1);
  if (text && ask(object, what, bytes, text, NULL)) {
    free(text);
    text = NULL;
  }
  return text;
}

char *clpi_cl_platform_text(cl_platform_id platform, cl_platform_info what)
{
  return read_text(ask_platform, platform, what);
}

char *clpi_cl_device_text(cl_device_id device, cl_device_info what)
{
  return read_text(ask_device, device, what);
}

uint64_t clpi_cl_device_number(cl_device_id device, cl_device_info what)
{
  cl_ulong value = 0;
  return clGetDeviceInfo(device, what, sizeof(value), &value, NULL) ? 0 : value;
}

/* A version text begins with "OpenCL major.minor". */
bool clpi_cl_is_version(const char *version, unsigned major, unsigned minor)
{
  unsigned has_major, has_minor;
  if (!version || sscanf(version, "OpenCL %u.%u", &has_major, &has_minor) != 2)
    return false;
  return has_major > major || (has_major == major && has_minor >= minor);
}

int clpi_cl_failed(const char *call, cl_int code)
{
  clpi_complain("%s failed with OpenCL's code %d", call, (int)code);
  return CLPI_EXIT_FAILED;
}
