/* SPDX-License-Identifier: MIT */
/* The program's kernels, and what memory their arguments are. */
#include "check_call.h"
#include "dispatch.h"
#include "handles.h"
#include "references.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel {
  const char *name;
  clpi_check_call setting; /* for the errors of an argument that is set */
  atomic_size_t references;
  cl_uint count;
  clpi_checked *arguments[]; /* whose holder the kernel is; NULL: no memory that is known */
} kernel;

static clpi_handles kernels = CLPI_HANDLES_INIT;
static atomic_uint_fast64_t enqueues; /* of kernels so far */

static int compare_names(const void *one, const void *other)
{
  return strcmp(one, other);
}

/* Returns a copy that stays, the same one for the same name. */
static const char *keep_name(const char *name)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static void *names;
  pthread_mutex_lock(&lock);
  char *const *found = tfind(name, &names, compare_names);
  char *copy = found ? NULL : strdup(name);
  if (copy)
    found = tsearch(copy, &names, compare_names);
  pthread_mutex_unlock(&lock);
  return found ? *found : "(no host memory)";
}

static void end(kernel *it)
{
  for (cl_uint i = 0; it && i < it->count; i++)
    clpi_checked_let_go(it->arguments[i]);
  free(it);
}

/* A clone has the arguments of another kernel. */
static void add(cl_kernel handle, const kernel *original)
{
  cl_uint count = 0;
  cl_context context = NULL;
  char name[64] = "(a long name)";
  clpi_target->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
  clpi_target->clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL);
  clpi_target->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
  kernel *made = calloc(1, sizeof(*made) + count * sizeof(clpi_checked *));
  if (!made)
    return;
  made->references = 1;
  made->count = count;
  made->name = keep_name(name);
  made->setting.context = clpi_check_find_context(context);
  snprintf(made->setting.name, sizeof(made->setting.name), "an argument of kernel `%s`", name);
  for (cl_uint i = 0; original && i < count; i++)
    if ((made->arguments[i] = original->arguments[i]))
      made->arguments[i]->holders++;
  end(clpi_handles_take(&kernels, handle));
  if (!clpi_handles_put(&kernels, handle, made))
    end(made);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code)
{
  cl_kernel made = clpi_target->clCreateKernel(program, name, code);
  if (made)
    add(made, NULL);
  return made;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel original, cl_int *code)
{
  cl_kernel made = clpi_target->clCloneKernel(original, code);
  if (made)
    add(made, clpi_handles_find(&kernels, original));
  return made;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint room, cl_kernel *made,
                                         cl_uint *count_ret)
{
  cl_uint count = 0;
  cl_int code = clpi_target->clCreateKernelsInProgram(program, room, made, &count);
  for (cl_uint i = 0; !code && made && i < count; i++)
    add(made[i], NULL);
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
    end(clpi_handles_take(&kernels, handle));
  return clpi_target->clReleaseKernel(handle);
}

/* An argument that the driver refuses stays as it was. */
static cl_int set(cl_kernel handle, cl_uint index, clpi_checked *it, cl_int code)
{
  kernel *of = clpi_handles_find(&kernels, handle);
  if (of)
    (void)clpi_check_use(&of->setting, it, false);
  if (code || !of || index >= of->count)
    return code;
  if (it)
    it->holders++;
  clpi_checked_let_go(of->arguments[index]);
  of->arguments[index] = it;
  return code;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t bytes,
                                       const void *value)
{
  cl_mem mem = NULL;
  if (bytes == sizeof(mem) && value)
    memcpy(&mem, value, sizeof(mem)); /* it may be a number, which need not be aligned */
  return set(handle, index, clpi_checked_find(mem),
             clpi_target->clSetKernelArg(handle, index, bytes, value));
}

static cl_int CL_API_CALL set_svm_argument(cl_kernel handle, cl_uint index, const void *pointer)
{
  return set(handle, index, clpi_checked_at(pointer, 0),
             clpi_target->clSetKernelArgSVMPointer(handle, index, pointer));
}

void clpi_check_run(clpi_check_call *call, cl_kernel handle)
{
  kernel *of = clpi_handles_find(&kernels, handle);
  const uint64_t number = ++enqueues;
  if (!of) {
    clpi_check_sees_all = false;
    return;
  }
  call->kernel = handle;
  clpi_check_latest_kernel = of->name;
  snprintf(call->name, sizeof(call->name), "kernel `%s`, enqueue %" PRIu64 ",", of->name, number);
  for (cl_uint i = 0; i < of->count; i++) {
    clpi_checked *it = clpi_check_use(call, of->arguments[i], true);
    if (!it)
      continue;
    it = clpi_checked_root(it);
    it->kernel_number = number;
    const char *before = atomic_exchange(&it->kernel, of->name);
    if (before && before != of->name)
      it->had_several_kernels = true;
  }
}

void clpi_check_after_run(const clpi_check_call *call)
{
  const kernel *of = clpi_handles_find(&kernels, call->kernel);
  bool is_done = false;
  for (cl_uint i = 0; of && clpi_checks.every > 0 && i < of->count; i++) {
    clpi_checked *it = of->arguments[i] ? clpi_checked_root(of->arguments[i]) : NULL;
    if (it && it->mem.references > 0 && clpi_checked_zone(it) > 0 &&
        ++it->enqueues % clpi_checks.every == 0 && call->queue &&
        (is_done = is_done || clpi_check_await(call->queue->handle)))
      clpi_checked_compare(it, clpi_stack_here());
  }
}

void clpi_check_fill_kernels(cl_icd_dispatch *functions)
{
  functions->clCreateKernel = create_kernel;
  functions->clCreateKernelsInProgram = create_kernels;
  functions->clCloneKernel = clone_kernel;
  functions->clRetainKernel = retain_kernel;
  functions->clReleaseKernel = release_kernel;
  functions->clSetKernelArg = set_argument;
  functions->clSetKernelArgSVMPointer = set_svm_argument;
}
