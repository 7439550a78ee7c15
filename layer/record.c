/* SPDX-License-Identifier: MIT */
/* The layer that records memory that the program makes, shares and gives back. Calls go to the
 * driver unchanged, and so do their results.
 *
 * A row of an allocation is written after it has succeeded, a row of a free before the driver gets
 * the last release. So in the trace, memory is always freed before another thread allocates it
 * again. Parts of other memory, such as sub-buffers, have no rows; they keep the whole memory, as
 * in the driver. Memory whose creation the layer has not seen is ignored. */
#include "core/base/cancel.h"
#include "dispatch.h"
#include "handles.h"
#include "recording.h"
#include "watch.h"

#include <errno.h>
#include <stdlib.h>

typedef struct context {
  uint64_t number; /* from 1 */
  uintptr_t queue; /* its only one; 0: none, or several */
  bool has_queues;
} context;

typedef struct memory {
  clpi_trace_row end; /* the row of its end; without a kind: it is a part */
  uint64_t number;    /* tells it from others that had its handle */
  size_t references;  /* the program's, and one for each part */
  const void *whole;  /* what it is a part of; NULL: it is memory of its own */
  uint64_t whole_number;
} memory;

/* The recording's lock guards these. Shared virtual memory has a pointer for a handle. */
static clpi_handles contexts = CLPI_HANDLES_INIT; /* they stay */
static clpi_handles memories = CLPI_HANDLES_INIT;
static uint64_t context_count, memory_count;

/* Returns the struct of a handle; a new handle gets one of zeros. NULL: the handle is NULL, which
 * is the program's mistake, or there is no host memory, and the recording ends. */
static void *find_or_add_locked(clpi_handles *in, const void *handle, size_t bytes)
{
  void *found = clpi_handles_find(in, handle);
  if (found || !handle)
    return found;
  found = calloc(1, bytes);
  if (found && clpi_handles_put(in, handle, found))
    return found;
  free(found);
  clpi_trace_file_stop(&clpi_recording, ENOMEM);
  return NULL;
}

/* --- contexts --- */

/* Contexts may also come from extensions that the layer does not see. If a context is new, an
 * earlier one with its handle is gone. NULL: as above. */
static context *find_context_locked(const void *handle, bool is_new)
{
  context *found = find_or_add_locked(&contexts, handle, sizeof(*found));
  if (found && (is_new || !found->number))
    *found = (context){.number = ++context_count};
  return found;
}

/* If a context has one queue, that is the stream of its rows. NULL: the context is new. */
static void add_queue(cl_context of, cl_command_queue made)
{
  CLPI_UNCANCELLED;
  if (!clpi_recording_lock())
    return;
  context *found = find_context_locked(of, !made);
  if (found && made) {
    found->queue = found->has_queues ? 0 : (uintptr_t)made;
    found->has_queues = true;
  }
  clpi_recording_unlock();
}

static void add_context(cl_context made)
{
  add_queue(made, NULL);
}

/* --- references --- */

static void drop_locked(memory *it, uintptr_t stream)
{
  while (it && --it->references == 0) {
    memory ended = *it;
    free(clpi_handles_take(&memories, (const void *)ended.end.memory));
    ended.end.stream = stream ? stream : ended.end.stream;
    if (ended.end.kind)
      clpi_trace_file_put(&clpi_recording, &ended.end);
    it = clpi_handles_find(&memories, ended.whole);
    it = it && it->number == ended.whole_number ? it : NULL;
  }
}

/* `queue` is the queue that orders the free; NULL: the context's, if it has one. */
static void drop(const void *handle, cl_command_queue queue)
{
  CLPI_UNCANCELLED;
  if (!clpi_recording_lock())
    return;
  drop_locked(clpi_handles_find(&memories, handle), (uintptr_t)queue);
  clpi_recording_unlock();
}

static cl_int CL_API_CALL retain(cl_mem mem)
{
  CLPI_UNCANCELLED;
  cl_int code = clpi_target->clRetainMemObject(mem);
  if (code || !clpi_recording_lock())
    return code;
  memory *found = clpi_handles_find(&memories, mem);
  if (found)
    found->references++;
  clpi_recording_unlock();
  return code;
}

static cl_int CL_API_CALL release(cl_mem mem)
{
  drop(mem, NULL);
  return clpi_target->clReleaseMemObject(mem);
}

static void CL_API_CALL svm_free(cl_context of, void *pointer)
{
  drop(pointer, NULL);
  clpi_target->clSVMFree(of, pointer);
}

/* With a callback, it is that which frees, by clSVMFree. */
static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void *pointers[],
                                           void(CL_CALLBACK *free_them)(cl_command_queue, cl_uint,
                                                                        void *[], void *),
                                           void *user_data, cl_uint num_events,
                                           const cl_event *events, cl_event *event)
{
  for (cl_uint i = 0; i < count && pointers && !free_them; i++)
    drop(pointers[i], queue);
  return clpi_target->clEnqueueSVMFree(queue, count, pointers, free_them, user_data, num_events,
                                       events, event);
}

/* --- new memory --- */

/* Adds memory to which the program has one reference. If the layer did not see the end of what had
 * the handle before, that ends now. NULL: no host memory, or the whole is not known. */
static memory *add_locked(const void *handle, const void *whole)
{
  memory *stale = clpi_handles_find(&memories, handle);
  if (stale)
    stale->references = 1;
  drop_locked(stale, 0);
  memory *of = clpi_handles_find(&memories, whole);
  memory *added = whole && !of ? NULL : find_or_add_locked(&memories, handle, sizeof(*added));
  if (!added)
    return NULL;
  *added = (memory){{.memory = (uintptr_t)handle}, ++memory_count, 1, whole, of ? of->number : 0};
  if (of)
    of->references++;
  return added;
}

static void add_part(cl_mem part, cl_mem whole)
{
  CLPI_UNCANCELLED;
  if (!clpi_recording_lock())
    return;
  (void)add_locked(part, whole);
  clpi_recording_unlock();
}

/* `made` is NULL if the driver refused the memory. */
static void put_locked(const clpi_request *wanted, cl_mem made, size_t bytes,
                       const clpi_frames *stack)
{
  const char *kind = wanted->is_image ? "image" : wanted->is_svm ? "svm" : "buffer";
  const context *of = find_context_locked(wanted->context, false);
  memory *added = of && made ? add_locked(made, NULL) : NULL;
  if (!of || (made && !added))
    return;
  clpi_trace_row row = {.action = made ? "allocate" : "allocate failure",
                        .memory = (uintptr_t)made,
                        .bytes = bytes,
                        .stream = of->queue,
                        .context = of->number,
                        .kind = kind,
                        .flags = wanted->flags,
                        .stack = stack};
  clpi_layer_is_used();
  clpi_trace_file_put(&clpi_recording, &row);
  row.action = "free";
  row.stack = NULL;
  if (added)
    added->end = row;
}

/* Reads the stack without the lock, because that takes microseconds and the locks of others. */
static void put(const clpi_request *wanted, cl_mem made, size_t bytes)
{
  clpi_frames stack;
  const bool has_stack = made && clpi_recording_has_stacks();
  if (has_stack)
    clpi_frames_read(&stack, NULL, false);
  if (clpi_recording_lock()) {
    put_locked(wanted, made, bytes, has_stack ? &stack : NULL);
    clpi_recording_unlock();
  }
  if (has_stack)
    clpi_frames_end(&stack);
}

/* The memory of CL_MEM_USE_HOST_PTR is the program's own. Calls whose arguments are wrong are no
 * refusals. */
static cl_mem create_memory(const clpi_request *wanted, cl_int *code)
{
  cl_mem made = wanted->make(wanted, code);
  size_t bytes = wanted->bytes;
  const bool is_refused =
      !made && bytes > 0 && (clpi_layer_is_lack(*code) || *code == CL_INVALID_BUFFER_SIZE);
  if (wanted->flags & CL_MEM_USE_HOST_PTR || !(made || is_refused))
    return made;
  if (made && wanted->is_image && wanted->desc->buffer)
    add_part(made, wanted->desc->buffer);
  else if (!wanted->is_image ||
           !clpi_target->clGetMemObjectInfo(made, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL))
    put(wanted, made, bytes);
  return made;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  cl_mem made = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (made)
    add_part(made, buffer);
  return made;
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
  static const clpi_watcher watcher = {add_context, add_queue, create_memory, NULL};
  (void)target;
  clpi_watch(&watcher, &functions);
  return clpi_recording_begin();
}

const clpi_layer clpi_this_layer = {"clpool record", &functions, begin};
