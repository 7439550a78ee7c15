/* SPDX-License-Identifier: MIT */
/* Arrays of floats on an OpenCL device. */
#include "array.h"

#include "check.h"

#include <clpool/opencl.h>

/* A sum takes two passes: each of SUM_GROUPS work-groups adds up its part, then one adds up those
 * results. */
enum { SUM_GROUPS = 64, SUM_GROUP_SIZE = 64 };

struct array_device {
  cl_command_queue queue;
  cl_kernel axpby, sqrt, sum;
  size_t sum_group_size; /* a power of two */
};

static const char source[] =
    "kernel void axpby(global float *z, float a, global const float *x,\n"
    "                  float b, global const float *y)\n"
    "{\n"
    "  size_t i = get_global_id(0);\n"
    "  z[i] = a * x[i] + b * y[i];\n"
    "}\n"
    "kernel void square_root(global float *z, global const float *x)\n"
    "{\n"
    "  size_t i = get_global_id(0);\n"
    "  z[i] = sqrt(x[i]);\n"
    "}\n"
    "kernel void sum(global float *parts, global const float *x, ulong n, local float *group)\n"
    "{\n"
    "  ulong part = (n + get_num_groups(0) - 1) / get_num_groups(0);\n"
    "  ulong start = get_group_id(0) * part;\n"
    "  ulong end = min(start + part, n);\n"
    "  size_t me = get_local_id(0);\n"
    "  float mine = 0.0f;\n"
    "  for (ulong i = start + me; i < end; i += get_local_size(0))\n"
    "    mine += x[i];\n"
    "  group[me] = mine;\n"
    "  for (size_t other = get_local_size(0) / 2; other > 0; other /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (me < other)\n"
    "      group[me] += group[me + other];\n"
    "  }\n"
    "  if (me == 0)\n"
    "    parts[get_group_id(0)] = group[0];\n"
    "}\n";

/* --- The device --- */

static void print_build_log(cl_program program, cl_device_id device)
{
  char log[4096];
  if (!clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL))
    fputs(log, stderr);
}

static cl_program build(cl_context context, cl_device_id device)
{
  const char *text = source;
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
  check_cl(code, "clCreateProgramWithSource");
  code = clBuildProgram(program, 1, &device, "", NULL, NULL);
  if (code)
    print_build_log(program, device);
  check_cl(code, "clBuildProgram");
  return program;
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check_cl(code, name);
  return kernel;
}

/* Some devices allow less than SUM_GROUP_SIZE work-items where a kernel has barriers. */
static size_t group_size_for(cl_kernel kernel, cl_device_id device)
{
  size_t most;
  size_t size = SUM_GROUP_SIZE;
  CHECK_CL(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most,
                                    NULL));
  while (size > most)
    size /= 2;
  return size;
}

array_device *array_device_create(cl_command_queue queue)
{
  cl_context context;
  cl_device_id device;
  CHECK_CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, NULL));
  CHECK_CL(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL));
  array_device *created = check_malloc(sizeof(*created));
  cl_program program = build(context, device);
  CHECK_CL(clRetainCommandQueue(queue));
  created->queue = queue;
  created->axpby = kernel_of(program, "axpby");
  created->sqrt = kernel_of(program, "square_root");
  created->sum = kernel_of(program, "sum");
  created->sum_group_size = group_size_for(created->sum, device);
  CHECK_CL(clReleaseProgram(program)); /* the kernels keep it */
  return created;
}

void array_device_release(array_device *device)
{
  CHECK_CL(clReleaseKernel(device->axpby));
  CHECK_CL(clReleaseKernel(device->sqrt));
  CHECK_CL(clReleaseKernel(device->sum));
  CHECK_CL(clReleaseCommandQueue(device->queue));
  free(device);
}

/* --- Arrays --- */

static size_t bytes_of(const array *x)
{
  return x->elements * sizeof(cl_float);
}

array *array_create(array_device *device, const array_allocator *allocator, size_t elements)
{
  array *x = check_malloc(sizeof(*x));
  *x = (array){.device = device, .allocator = allocator, .elements = elements};
  if (allocator->pool) {
    CHECK(clp_pool_allocate(allocator->pool, bytes_of(x), &x->buffer));
    x->mem = clp_buffer_cl_mem(x->buffer);
  } else {
    clp_memory memory;
    CHECK(clp_allocator_allocate(allocator->bare, bytes_of(x), &memory));
    x->mem = (cl_mem)memory;
  }
  return x;
}

void array_release(array *x)
{
  if (x->buffer)
    CHECK(clp_buffer_release(x->buffer));
  else
    CHECK(clp_allocator_free(x->allocator->bare, (clp_memory)x->mem, bytes_of(x)));
  free(x);
}

void array_fill(array *x, float value)
{
  cl_float pattern = value;
  CHECK_CL(clEnqueueFillBuffer(x->device->queue, x->mem, &pattern, sizeof(pattern), 0, bytes_of(x),
                               0, NULL, NULL));
}

void array_write(array *x, const float *from)
{
  CHECK_CL(
      clEnqueueWriteBuffer(x->device->queue, x->mem, CL_TRUE, 0, bytes_of(x), from, 0, NULL, NULL));
}

void array_read(const array *x, float *to)
{
  CHECK_CL(
      clEnqueueReadBuffer(x->device->queue, x->mem, CL_TRUE, 0, bytes_of(x), to, 0, NULL, NULL));
}

/* --- Operations --- */

static array *create_like(const array *x)
{
  return array_create(x->device, x->allocator, x->elements);
}

static void run_on_each_element(const array *z, cl_kernel kernel)
{
  CHECK_CL(
      clEnqueueNDRangeKernel(z->device->queue, kernel, 1, NULL, &z->elements, NULL, 0, NULL, NULL));
}

array *array_axpby(float a, const array *x, float b, const array *y)
{
  array *z = create_like(x);
  cl_kernel kernel = z->device->axpby;
  CHECK_CL(clSetKernelArg(kernel, 0, sizeof(cl_mem), &z->mem));
  CHECK_CL(clSetKernelArg(kernel, 1, sizeof(cl_float), &a));
  CHECK_CL(clSetKernelArg(kernel, 2, sizeof(cl_mem), &x->mem));
  CHECK_CL(clSetKernelArg(kernel, 3, sizeof(cl_float), &b));
  CHECK_CL(clSetKernelArg(kernel, 4, sizeof(cl_mem), &y->mem));
  run_on_each_element(z, kernel);
  return z;
}

array *array_sqrt(const array *x)
{
  array *z = create_like(x);
  cl_kernel kernel = z->device->sqrt;
  CHECK_CL(clSetKernelArg(kernel, 0, sizeof(cl_mem), &z->mem));
  CHECK_CL(clSetKernelArg(kernel, 1, sizeof(cl_mem), &x->mem));
  run_on_each_element(z, kernel);
  return z;
}

/* One pass: the sum of each group's part of `x`. */
static array *sum_by_groups(const array *x, size_t groups)
{
  array *parts = array_create(x->device, x->allocator, groups);
  cl_kernel kernel = x->device->sum;
  size_t group_size = x->device->sum_group_size;
  size_t items = groups * group_size;
  cl_ulong n = x->elements;
  CHECK_CL(clSetKernelArg(kernel, 0, sizeof(cl_mem), &parts->mem));
  CHECK_CL(clSetKernelArg(kernel, 1, sizeof(cl_mem), &x->mem));
  CHECK_CL(clSetKernelArg(kernel, 2, sizeof(n), &n));
  CHECK_CL(clSetKernelArg(kernel, 3, group_size * sizeof(cl_float), NULL));
  CHECK_CL(clEnqueueNDRangeKernel(x->device->queue, kernel, 1, NULL, &items, &group_size, 0, NULL,
                                  NULL));
  return parts;
}

float array_sum(const array *x)
{
  float sum;
  array *parts = sum_by_groups(x, SUM_GROUPS);
  array *total = sum_by_groups(parts, 1);
  array_release(parts);
  array_read(total, &sum);
  array_release(total);
  return sum;
}
