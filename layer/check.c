/* SPDX-License-Identifier: MIT */
/* The layer that checks: contexts, queues and memory as they are made, shared and released. */
#include "check_call.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "dispatch.h"
#include "exact.h"
#include "references.h"
#include "work.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t process;

/* --- contexts and queues --- */

static void finish(void)
{
  if (getpid() == process)
    clpi_checked_finish();
}

/* Functions of atexit run in reverse order: those of drivers that have made a context run later. */
static void add_context(cl_context context)
{
  static atomic_flag is_registered = ATOMIC_FLAG_INIT;
  clpi_layer_is_used();
  clpi_check_add_context(context);
  if (!atomic_flag_test_and_set(&is_registered))
    (void)atexit(finish);
}

static cl_int CL_API_CALL retain_context(cl_context handle)
{
  clpi_check_context *context = clpi_check_find_context(handle);
  if (context)
    (void)clpi_references_add(&context->references);
  return clpi_target->clRetainContext(handle);
}

static cl_int CL_API_CALL release_context(cl_context handle)
{
  CLPI_UNCANCELLED;
  clpi_check_context *context = clpi_check_find_context(handle);
  if (context && clpi_references_drop(&context->references) == 1) {
    clpi_checked_evict(0);
    (void)clpi_check_await_all(context);
    clpi_check_drop_user(context);
  }
  return clpi_target->clReleaseContext(handle);
}

static cl_int CL_API_CALL get_context_info(cl_context handle, cl_context_info what, size_t room,
                                           void *to, size_t *size_ret)
{
  const clpi_check_context *context = clpi_check_find_context(handle);
  if (context && what == CL_CONTEXT_REFERENCE_COUNT)
    return clpi_layer_answer_count(context->references, room, to, size_ret);
  return clpi_target->clGetContextInfo(handle, what, room, to, size_ret);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
  clpi_check_queue *queue = clpi_check_find_queue(handle);
  if (queue)
    (void)clpi_references_add(&queue->references);
  return clpi_target->clRetainCommandQueue(handle);
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  clpi_check_queue *queue = clpi_check_find_queue(handle);
  const size_t references = queue ? clpi_check_drop_queue(queue) : 2;
  if (references > 0)
    return references > 1 ? clpi_target->clReleaseCommandQueue(handle) : CL_SUCCESS;
  clpi_find(CLPI_WRONG_CALL, (clpi_places){.here = clpi_stack_here()},
            "clReleaseCommandQueue is given a queue that was released");
  return CL_INVALID_COMMAND_QUEUE;
}

/* --- memory --- */

/* Makes it with a zone behind it. False: it is to be made as the program asks. */
static bool make_guarded(const clpi_request *wanted, clpi_checked *draft)
{
  const size_t zone_bytes = clpi_checks.guard_bytes;
  clpi_request longer = *wanted;
  cl_int code;
  if (wanted->is_image || wanted->properties || !wanted->bytes || !zone_bytes ||
      wanted->bytes > SIZE_MAX - zone_bytes || (wanted->flags & CL_MEM_USE_HOST_PTR) ||
      !wanted->host != !(wanted->flags & CL_MEM_COPY_HOST_PTR))
    return false;
  cl_mem source = wanted->host ? wanted->make(wanted, &code) : NULL;
  if (wanted->host && !source)
    return false;
  longer.host = NULL;
  longer.flags &= ~(cl_mem_flags)CL_MEM_COPY_HOST_PTR;
  longer.bytes += zone_bytes;
  draft->mem.handle = longer.make(&longer, &code);
  draft->mem.block_bytes = longer.bytes;
  bool is_made =
      draft->mem.handle && clpi_check_fill(draft, source, (int)clpi_checks.fill, CLPI_ZONE_BYTE);
  if (draft->mem.handle && !is_made)
    clpi_check_free(draft);
  if (source)
    clpi_target->clReleaseMemObject(source);
  if (!is_made)
    clpi_checked_evict(0); /* drivers take memory late */
  else if (wanted->host) {
    draft->mem.missing_flags = CL_MEM_COPY_HOST_PTR;
    draft->mem.added_flags = longer.flags ? 0 : CL_MEM_READ_WRITE; /* as PoCL reports no flags */
  }
  return is_made;
}

static void make_as_asked(const clpi_request *wanted, cl_int *code, clpi_mem *draft)
{
  cl_mem made = wanted->make(wanted, code);
  if (!made && clpi_layer_is_lack(*code)) {
    clpi_checked_evict(0);
    made = wanted->make(wanted, code);
  }
  draft->handle = clpi_exact_image(wanted, made, code);
  if (draft->handle && wanted->is_image)
    clpi_target->clGetMemObjectInfo(draft->handle, CL_MEM_SIZE, sizeof(draft->bytes), &draft->bytes,
                                    NULL);
  draft->block_bytes = draft->bytes;
}

/* The host and kernels may write shared virtual memory in ways that are not seen. The program may
 * free the memory of CL_MEM_USE_HOST_PTR when the driver tells it. */
static cl_mem create_memory(const clpi_request *wanted, cl_int *code)
{
  clpi_checked made = {
      .mem = {.bytes = wanted->bytes, .is_watched = wanted->flags & CL_MEM_USE_HOST_PTR},
      .context = clpi_check_find_context(wanted->context),
      .what = wanted->is_image ? "an image"
              : wanted->is_svm ? "a shared virtual memory block"
                               : "a buffer",
      .is_svm = wanted->is_svm,
      .was_written = wanted->is_svm || wanted->host};
  const clpi_check_call call = {.name = "clCreateImage", .context = made.context};
  if (wanted->is_image && wanted->desc)
    (void)clpi_check_use(&call, clpi_checked_find(wanted->desc->buffer), false);
  if (!made.context || !make_guarded(wanted, &made))
    make_as_asked(wanted, code, &made.mem);
  if (made.context && made.mem.handle)
    clpi_checked_add(&made);
  return made.mem.handle;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  static const clpi_check_call call = {.name = "clCreateSubBuffer"};
  const clpi_checked *whole = clpi_check_use(&call, clpi_checked_find(buffer), false);
  const cl_buffer_region *at = region;
  cl_mem part = clpi_exact_sub_buffer(buffer, flags, type, region, code);
  if (part && whole)
    clpi_checked_add(
        &(clpi_checked){.mem = {.handle = part, .bytes = at->size, .block_bytes = at->size},
                        .context = whole->context,
                        .what = "a sub-buffer"});
  return part;
}

static cl_int CL_API_CALL retain_mem(cl_mem handle)
{
  static const clpi_check_call call = {.name = "clRetainMemObject"};
  clpi_checked *it = clpi_check_use(&call, clpi_checked_find(handle), false);
  return it ? clpi_mem_retain(&it->mem) : clpi_target->clRetainMemObject(handle);
}

/* The references of a whole are its parts', too. */
static cl_int CL_API_CALL release_mem(cl_mem handle)
{
  CLPI_UNCANCELLED;
  clpi_checked *it = clpi_checked_find(handle);
  if (!it)
    return clpi_target->clReleaseMemObject(handle);
  if (it->mem.references == it->mem.parts) {
    clpi_check_tell(CLPI_WRONG_CALL, "clReleaseMemObject", "releases once too often", it);
    return CL_INVALID_MEM_OBJECT;
  }
  return clpi_checked_drop(it);
}

/* --- shared virtual memory --- */

static void CL_API_CALL svm_free(cl_context context, void *pointer)
{
  CLPI_UNCANCELLED;
  clpi_checked *it = clpi_checked_find(pointer);
  if (!it)
    clpi_target->clSVMFree(context, pointer);
  else if (it->mem.references > 0)
    (void)clpi_checked_drop(it);
  else
    clpi_check_tell(CLPI_WRONG_CALL, "clSVMFree", "frees once too often", it);
}

/* --- callbacks of events --- */

typedef struct callback {
  void(CL_CALLBACK *function)(cl_event, cl_int, void *);
  void *user_data;
} callback;

static void CL_CALLBACK call_back(cl_event event, cl_int status, void *user_data)
{
  const callback it = *(callback *)user_data;
  const bool before = clpi_check_is_called_back;
  free(user_data);
  clpi_check_is_called_back = true;
  it.function(event, status, it.user_data);
  clpi_check_is_called_back = before;
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int status,
                                             void(CL_CALLBACK *function)(cl_event, cl_int, void *),
                                             void *user_data)
{
  callback *it = function ? malloc(sizeof(*it)) : NULL;
  if (!it)
    return clpi_target->clSetEventCallback(event, status, function, user_data);
  *it = (callback){function, user_data};
  cl_int code = clpi_target->clSetEventCallback(event, status, call_back, it);
  if (code)
    free(it);
  return code;
}

/* --- the layer --- */

static void see_extension(void)
{
  clpi_check_sees_all = false;
}

static cl_icd_dispatch functions = {
    .clRetainContext = retain_context,
    .clReleaseContext = release_context,
    .clGetContextInfo = get_context_info,
    .clRetainCommandQueue = retain_queue,
    .clReleaseCommandQueue = release_queue,
    .clCreateSubBuffer = create_sub_buffer,
    .clRetainMemObject = retain_mem,
    .clReleaseMemObject = release_mem,
    .clGetMemObjectInfo = clpi_exact_info,
    .clSetMemObjectDestructorCallback = clpi_mem_watch,
    .clSVMFree = svm_free,
    .clSetEventCallback = set_event_callback,
};

static bool read_settings(clpi_check_settings *to)
{
  *to = (clpi_check_settings){.guard_bytes = 4096, .quarantine_bytes = 64 << 20, .fill = 255};
  bool are_right =
      !clpi_environment_number("CLPOOL_LAYER_EVERY", UINT_MAX, &to->every) &&
      !clpi_environment_number("CLPOOL_LAYER_FILL", 255, &to->fill) &&
      !clpi_environment_bytes("CLPOOL_LAYER_GUARD", "zones", 0, &to->guard_bytes) &&
      !clpi_environment_bytes("CLPOOL_LAYER_QUARANTINE", "it", 0, &to->quarantine_bytes);
  if (!are_right)
    clpi_layer_complain("%s: nothing is checked", clp_last_error()->message);
  return are_right;
}

static bool begin(const cl_icd_dispatch *target)
{
  static const clpi_watcher watcher = {add_context, clpi_check_add_queue, create_memory,
                                       see_extension};
  (void)target;
  clpi_watch(&watcher, &functions);
  clpi_work_fill(&functions);
  clpi_check_fill_kernels(&functions);
  process = getpid();
  return clpi_findings_begin() && clpi_stacks_begin(clpi_loader) && read_settings(&clpi_checks);
}

/* The drivers may have ended: from here on none is called. */
__attribute__((destructor)) static void report(void)
{
  if (!clpi_target || getpid() != process)
    return;
  if (!secure_getenv("CLPOOL_LAYER_NO_LEAKS"))
    clpi_checked_find_leaks();
  clpi_findings_sum_up();
}

const clpi_layer clpi_this_layer = {"clpool check", &functions, begin};
