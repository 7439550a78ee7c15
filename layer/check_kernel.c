/* SPDX-License-Identifier: MIT */
/* The program's kernels, and what memory their arguments are. */
#include "check_call.h"
#include "dispatch.h"
#include "handles.h"
#include "references.h"
#include "stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an argument was when it was set: kernels keep no references. */
typedef struct argument {
  cl_mem handle; /* NULL: no memory that is known */
  uint64_t serial;
  size_t bytes;
  uint32_t allocated;
} argument;

typedef struct kernel {
  char name[64];
  clpi_check_call setting; /* for the errors of an argument that is set */
  atomic_size_t references;
  cl_uint count;
  argument arguments[];
} kernel;

static clpi_handles kernels = CLPI_HANDLES_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards arguments */
static atomic_uint_fast64_t enqueues;                    /* of kernels so far */

static void add(cl_kernel handle)
{
  cl_uint count = 0;
  cl_context context = NULL;
  clpi_target->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
  clpi_target->clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL);
  kernel *made = calloc(1, sizeof(*made) + count * sizeof(argument));
  if (!made)
    return;
  made->references = 1;
  made->count = count;
  if (clpi_target->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(made->name), made->name,
                                   NULL))
    strcpy(made->name, "(a long name)");
  made->setting.context = clpi_check_find_context(context);
  snprintf(made->setting.name, sizeof(made->setting.name), "an argument of kernel `%s`",
           made->name);
  free(clpi_handles_take(&kernels, handle));
  if (!clpi_handles_put(&kernels, handle, made))
    free(made);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code)
{
  cl_kernel made = clpi_target->clCreateKernel(program, name, code);
  if (made)
    add(made);
  return made;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint room, cl_kernel *made,
                                         cl_uint *count_ret)
{
  cl_uint count = 0;
  cl_int code = clpi_target->clCreateKernelsInProgram(program, room, made, &count);
  for (cl_uint i = 0; !code && made && i < count; i++)
    add(made[i]);
  if (count_ret)
    *count_ret = count;
  return code;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel handle)
{
  kernel *it = clpi_handles_find(&kernels, handle);
  if (it)
    (void)clpi_references_add(&it->references);
  return clpi_target->clRetainKernel(handle);
}

static cl_int CL_API_CALL release_kernel(cl_kernel handle)
{
  kernel *it = clpi_handles_find(&kernels, handle);
  if (it && clpi_references_drop(&it->references) == 1)
    free(clpi_handles_take(&kernels, handle));
  return clpi_target->clReleaseKernel(handle);
}

static void set(cl_kernel handle, cl_uint index, clpi_checked *it)
{
  kernel *of = clpi_handles_find(&kernels, handle);
  if (!of || index >= of->count)
    return;
  (void)clpi_check_use(&of->setting, it);
  pthread_mutex_lock(&lock);
  of->arguments[index] =
      it ? (argument){it->mem.handle, it->serial, it->mem.bytes, it->allocated} : (argument){0};
  pthread_mutex_unlock(&lock);
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t bytes,
                                       const void *value)
{
  cl_mem mem = NULL;
  if (bytes == sizeof(mem) && value)
    memcpy(&mem, value, sizeof(mem)); /* it may be a number, which need not be aligned */
  set(handle, index, clpi_checked_find(mem));
  return clpi_target->clSetKernelArg(handle, index, bytes, value);
}

static cl_int CL_API_CALL set_svm_argument(cl_kernel handle, cl_uint index, const void *pointer)
{
  set(handle, index, clpi_checked_find_svm(pointer));
  return clpi_target->clSetKernelArgSVMPointer(handle, index, pointer);
}

/* The memory of an argument; NULL, and `*was` is set: it has none that is still the same. */
static clpi_checked *find(const kernel *of, cl_uint index, argument *was)
{
  pthread_mutex_lock(&lock);
  *was = of->arguments[index];
  pthread_mutex_unlock(&lock);
  clpi_checked *it = was->handle ? clpi_checked_find(was->handle) : NULL;
  return it && it->serial == was->serial ? it : NULL;
}

void clpi_check_run(clpi_check_call *call, cl_kernel handle)
{
  const kernel *of = clpi_handles_find(&kernels, handle);
  const uint64_t number = ++enqueues;
  argument was;
  if (!of) {
    clpi_check_sees_all = false;
    return;
  }
  call->kernel = handle;
  clpi_checked_note_kernel(NULL, of->name, number);
  snprintf(call->name, sizeof(call->name), "kernel `%s`, enqueue %" PRIu64 ",", of->name, number);
  for (cl_uint i = 0; i < of->count; i++) {
    clpi_checked *it = find(of, i, &was);
    clpi_check_write(call, it);
    if (it)
      clpi_checked_note_kernel(clpi_checked_root(it), of->name, number);
    else if (was.handle)
      clpi_find(CLPI_AFTER_RELEASE, (clpi_places){clpi_stack_here(), 0, was.allocated},
                "%s uses released memory of %zu bytes", call->name, was.bytes);
  }
}

void clpi_check_after_run(const clpi_check_call *call)
{
  const kernel *of = clpi_handles_find(&kernels, call->kernel);
  argument was;
  for (cl_uint i = 0; of && clpi_checks.every > 0 && i < of->count; i++) {
    clpi_checked *it = find(of, i, &was);
    it = it ? clpi_checked_root(it) : NULL;
    if (it && it->has_zone && ++it->enqueues % clpi_checks.every == 0 && call->queue &&
        clpi_check_await(call->queue->handle))
      clpi_checked_compare(it, clpi_stack_here());
  }
}

void clpi_check_fill_kernels(cl_icd_dispatch *functions)
{
  functions->clCreateKernel = create_kernel;
  functions->clCreateKernelsInProgram = create_kernels;
  functions->clRetainKernel = retain_kernel;
  functions->clReleaseKernel = release_kernel;
  functions->clSetKernelArg = set_argument;
  functions->clSetKernelArgSVMPointer = set_svm_argument;
}
