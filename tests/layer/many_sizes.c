/* SPDX-License-Identifier: MIT */
/* A program of which clpool tune is to say what clpool run would take for it: it makes and releases
 * buffers and images by chance. Its argument says of which kind; 77: there is no OpenCL device, or
 * it has no images. */
#include "support/chance.h"
#include "support/opencl_devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, STEPS = 3000, LIVE = 100 };

static cl_context context, other_context;
static clpt_chance chance;

static size_t below(size_t bound)
{
  return (size_t)clpt_chance_below(&chance, bound);
}

static cl_mem make_buffer(size_t bytes, cl_mem_flags more)
{
  static char host[1 << 20];
  const cl_mem_flags flags = below(3) ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
  return clCreateBuffer(context, flags | more, bytes, more ? host : NULL, NULL);
}

/* Sizes that are others in each phase, sometimes with contents, and larger ones that come again. */
static cl_mem make_in_phases(unsigned step)
{
  if (step % 8 == 0)
    return make_buffer(((size_t)1 << 20) + step * 7919 % 16 * 65537, 0);
  return make_buffer(1000 + step / 1000 * 30001 + below(1000),
                     below(16) ? 0 : CL_MEM_COPY_HOST_PTR);
}

static cl_mem make_image(unsigned step)
{
  (void)step;
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = 16 + 16 * below(16),
                              .image_height = 16 + 64 * below(4)};
  return clCreateImage(context, below(2) ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE, &format, &desc,
                       NULL, NULL);
}

/* A few sizes, and flags of all sorts. */
static cl_mem make_with_flags(unsigned step)
{
  static const cl_mem_flags host[] = {0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY,
                                      CL_MEM_HOST_NO_ACCESS, CL_MEM_ALLOC_HOST_PTR};
  static const cl_mem_flags kernels[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
  (void)step;
  return clCreateBuffer(context, host[below(5)] | kernels[below(4)], 4096 * (1 + below(20)), NULL,
                        NULL);
}

/* Of two contexts, which have pools of their own; one's grow. */
static cl_mem make_in_contexts(unsigned step)
{
  const size_t bytes = step % 3 ? 1 + below(30000) : 1000 + (size_t)step * step / 16;
  return clCreateBuffer(step % 3 ? context : other_context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
}

static const struct {
  const char *name;
  cl_mem (*make)(unsigned step);
  bool is_stack, has_images;
} kinds[] = {{"phases", make_in_phases, true, false},
             {"images", make_image, false, true},
             {"flags", make_with_flags, false, false},
             {"contexts", make_in_contexts, false, false}};

/* A stack grows to its end, and is released from there. */
static size_t next_place(unsigned step, bool is_stack)
{
  const size_t place = step % (2 * LIVE);
  if (!is_stack)
    return below(LIVE);
  return place < LIVE ? place : 2 * LIVE - 1 - place;
}

static int run(cl_mem (*make)(unsigned step), bool is_stack)
{
  cl_mem live[LIVE] = {NULL};
  for (unsigned step = 0; step < STEPS; step++) {
    cl_mem *one = &live[next_place(step, is_stack)];
    if (*one)
      clReleaseMemObject(*one);
    *one = *one ? NULL : make(step);
  }
  for (size_t i = 0; i < LIVE; i++)
    if (live[i])
      clReleaseMemObject(live[i]);
  return 0;
}

int main(int argc, char **argv)
{
  cl_device_id device;
  cl_bool has_images = CL_FALSE;
  if (clpt_find_devices(1, &device) == 0)
    return SKIPPED;
  clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has_images), &has_images, NULL);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  other_context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  chance = clpt_chance_seed(1);
  for (size_t i = 0; context && other_context && argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]);
       i++) {
    if (strcmp(argv[1], kinds[i].name) != 0)
      continue;
    int code = kinds[i].has_images && !has_images ? SKIPPED : run(kinds[i].make, kinds[i].is_stack);
    clReleaseContext(context);
    clReleaseContext(other_context);
    return code;
  }
  fputs("usage: many_sizes KIND, one of those in the source\n", stderr);
  return 1;
}
