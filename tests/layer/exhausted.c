/* SPDX-License-Identifier: MIT */
/* A program that has room for what it has in use, and not for much more: under clpool run, what is
 * held must go when memory is out. In phases it makes buffers and images of one size, and uses them
 * all. 77: the device is not PoCL's, whose memory is the process's. */
#include "support/instrumented.h"
#include "support/opencl_devices.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SKIPPED = 77, MIB = 1 << 20, PHASES = 6, LIVE = 4, ROOM = 600, FIRST = 90, STEP = 7 };

static cl_context context;
static cl_command_queue queue;

static void require(int holds, const char *what, size_t phase)
{
  if (holds)
    return;
  printf("phase %zu: %s\n", phase, what);
  exit(EXIT_FAILURE);
}

static cl_mem make(size_t mib, int is_image)
{
  const cl_image_format format = {CL_R, CL_FLOAT};
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4096, .image_height = mib << 6};
  return is_image ? clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL)
                  : clCreateBuffer(context, CL_MEM_READ_WRITE, mib * MIB, NULL, NULL);
}

static cl_int use(cl_mem mem, size_t mib, int is_image)
{
  const float color[4] = {1};
  const size_t origin[3] = {0}, region[3] = {4096, mib << 6, 1};
  return is_image ? clEnqueueFillImage(queue, mem, color, origin, region, 0, NULL, NULL)
                  : clEnqueueFillBuffer(queue, mem, color, 4, 0, mib * MIB, 0, NULL, NULL);
}

static void run_phase(size_t phase)
{
  const size_t mib = FIRST + phase * STEP;
  cl_mem live[LIVE];
  for (int i = 0; i < LIVE; i++) {
    live[i] = make(mib, i == 0);
    require(live[i] != NULL, "no memory at creation", phase);
    require(!use(live[i], mib, i == 0), "no memory at an enqueue", phase);
  }
  require(!clFinish(queue), "clFinish", phase);
  for (int i = 0; i < LIVE; i++)
    require(!clReleaseMemObject(live[i]), "a release", phase);
}

static void limit_memory(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  require(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file), "/proc/self/statm", 0);
  const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)ROOM * MIB;
  const struct rlimit limit = {most, most};
  require(!setrlimit(RLIMIT_AS, &limit), "setrlimit", 0);
}

int main(void)
{
  char version[256] = "";
  cl_device_id device;
  if (CLPT_SANITIZED || RUNNING_ON_VALGRIND || clpt_find_devices(1, &device) == 0)
    return SKIPPED;
  clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL);
  if (!strstr(version, "PoCL") && !strstr(version, "pocl"))
    return SKIPPED;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  cl_mem first = make(1, 0); /* what the driver loads and starts comes before the limit */
  require(!use(first, 1, 0) && !clFinish(queue) && !clReleaseMemObject(first), "the first use", 0);
  limit_memory();
  for (size_t phase = 0; phase < PHASES; phase++)
    run_phase(phase);
  return clReleaseCommandQueue(queue) || clReleaseContext(context);
}
