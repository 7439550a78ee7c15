/* SPDX-License-Identifier: MIT */
/* A program of which clpool tune is to say what clpool run would take for it: it makes and releases
 * buffers and images by chance. Its argument says of which kind; 77: there is no OpenCL device, or
 * it has no images. */
#include "support/chance.h"
#include "support/opencl_devices.h"

#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, STEPS = 6000, LIVE = 100 };

static cl_context context;
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

/* Sizes below 64 KiB. */
static cl_mem make_small(unsigned step)
{
  (void)step;
  return make_buffer(1 + below(65536), 0);
}

/* Sizes that are others in each phase. */
static cl_mem make_in_phases(unsigned step)
{
  return make_buffer(1000 + step / 1000 * 30001 + below(1000), 0);
}

static cl_mem make_of_all_sizes(unsigned step)
{
  (void)step;
  const size_t bytes = (size_t)1 << (10 + below(12));
  return make_buffer(bytes + below(bytes), 0);
}

static cl_mem make_with_contents(unsigned step)
{
  (void)step;
  return make_buffer(1 + below(100000), below(4) ? 0 : CL_MEM_COPY_HOST_PTR);
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

static const struct {
  const char *name;
  cl_mem (*make)(unsigned step);
} kinds[] = {{"small", make_small},
             {"phases", make_in_phases},
             {"all", make_of_all_sizes},
             {"contents", make_with_contents},
             {"images", make_image}};

static int run(cl_mem (*make)(unsigned step))
{
  cl_mem live[LIVE] = {NULL};
  for (unsigned step = 0; step < STEPS; step++) {
    cl_mem *one = &live[below(LIVE)];
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
  chance = clpt_chance_seed(1);
  for (size_t i = 0; context && argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(argv[1], kinds[i].name) != 0)
      continue;
    int code = kinds[i].make == make_image && !has_images ? SKIPPED : run(kinds[i].make);
    clReleaseContext(context);
    return code;
  }
  fputs("usage: many_sizes small|phases|all|contents|images\n", stderr);
  return 1;
}
