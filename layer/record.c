/* SPDX-License-Identifier: MIT */
/* The layer that records memory that the program makes, shares and gives back, in the ledger. Calls
 * go to the driver unchanged, and so do their results. */
#include "dispatch.h"
#include "ledger.h"
#include "watch.h"

/* --- memory objects --- */

/* Whether memory was refused to the program, and not because its arguments were wrong. */
static bool is_refusal(cl_int code)
{
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

static void tell(const clpi_request *wanted, cl_mem mem, cl_int code)
{
  const char *kind = wanted->is_image ? "image" : wanted->is_svm ? "svm" : "buffer";
  size_t bytes = wanted->bytes;
  if (!mem) {
    if (bytes > 0 && is_refusal(code))
      clpi_ledger_refuse(wanted->context, bytes, kind, wanted->flags);
    return;
  }
  if (wanted->is_image && wanted->desc->buffer)
    clpi_ledger_add_part(mem, wanted->desc->buffer);
  else if (!wanted->is_image ||
           !clpi_target->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL))
    clpi_ledger_add(wanted->context, mem, bytes, kind, wanted->flags);
}

/* The memory of CL_MEM_USE_HOST_PTR is the program's own. */
static cl_mem create_memory(const clpi_request *wanted, cl_int *code)
{
  cl_mem mem = wanted->make(wanted, code);
  if (!(wanted->flags & CL_MEM_USE_HOST_PTR))
    tell(wanted, mem, *code);
  return mem;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  cl_mem mem = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (mem)
    clpi_ledger_add_part(mem, buffer);
  return mem;
}

/* --- references --- */

static cl_int CL_API_CALL retain(cl_mem mem)
{
  cl_int code = clpi_target->clRetainMemObject(mem);
  if (!code)
    clpi_ledger_retain(mem);
  return code;
}

static cl_int CL_API_CALL release(cl_mem mem)
{
  clpi_ledger_release(mem, NULL);
  return clpi_target->clReleaseMemObject(mem);
}

/* --- shared virtual memory --- */

static void CL_API_CALL svm_free(cl_context context, void *pointer)
{
  clpi_ledger_release(pointer, NULL);
  clpi_target->clSVMFree(context, pointer);
}

/* With a callback, it is that which frees, by clSVMFree. */
static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void *pointers[],
                                           void(CL_CALLBACK *free_them)(cl_command_queue, cl_uint,
                                                                        void *[], void *),
                                           void *user_data, cl_uint num_events,
                                           const cl_event *events, cl_event *event)
{
  for (cl_uint i = 0; i < count && pointers && !free_them; i++)
    clpi_ledger_release(pointers[i], queue);
  return clpi_target->clEnqueueSVMFree(queue, count, pointers, free_them, user_data, num_events,
                                       events, event);
}

/* --- the layer --- */

static cl_icd_dispatch functions = {
    .clCreateSubBuffer = create_sub_buffer,
    .clRetainMemObject = retain,
    .clReleaseMemObject = release,
    .clSVMFree = svm_free,
    .clEnqueueSVMFree = enqueue_svm_free,
};

static bool begin(const cl_icd_dispatch *target)
{
  static const clpi_watcher watcher = {clpi_ledger_add_context, clpi_ledger_add_queue,
                                       create_memory, NULL};
  (void)target;
  clpi_watch(&watcher, &functions);
  return clpi_ledger_begin();
}

const clpi_layer clpi_this_layer = {"clpool record", &functions, begin};
