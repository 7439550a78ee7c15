/* SPDX-License-Identifier: MIT */
#include "enqueue.h"

#include "attempt.h"
#include "buffer.h"
#include "dispatch.h"
#include "order.h"

#include <stdlib.h>
#include <string.h>

/* --- what work waits for --- */

/* Returns the mark, followed by the program's list. NULL: the driver must refuse the list, or the
 * mark is done. */
static cl_event *lengthen(cl_event mark, cl_uint count, const cl_event *list)
{
  bool is_right = !count == !list;
  cl_event *longer = is_right ? malloc((count + (size_t)1) * sizeof(*longer)) : NULL;
  if (!longer) {
    if (is_right)
      clpi_target->clWaitForEvents(1, &mark);
    clpi_target->clReleaseEvent(mark);
    return NULL;
  }
  longer[0] = mark;
  if (count > 0)
    memcpy(longer + 1, list, count * sizeof(*longer));
  return longer;
}

/* Prepares work of the queue with this list. Returns the list to pass to end_work. */
static cl_event *begin_work(cl_command_queue handle, cl_uint *count, const cl_event **list)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  cl_event *longer = mark ? lengthen(mark, *count, *list) : NULL;
  if (!longer)
    return NULL;
  *list = longer;
  ++*count;
  return longer;
}

static void end_work(cl_event *longer)
{
  if (!longer)
    return;
  clpi_target->clReleaseEvent(longer[0]);
  free(longer);
}

/* The work uses no memory. */
static void begin_bare_work(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  if (mark)
    clpi_target->clReleaseEvent(mark);
}

/* --- ranges --- */

/* The driver knows the block, not the buffer. If a range ends between their ends, the layer moves
 * it to end as far beyond the block. The driver then refuses it with the right code. */

/* Returns how far to move a box of bytes, as clEnqueueReadBufferRect has it. */
static size_t shift_of_box(cl_mem buffer, const size_t *origin, const size_t *region,
                           size_t row_pitch, size_t slice_pitch)
{
  if (!origin || !region || !region[0] || !region[1] || !region[2])
    return 0;
  size_t row = row_pitch ? row_pitch : region[0];
  size_t slice = slice_pitch ? slice_pitch : region[1] * row;
  return clpi_mem_shift(buffer, (origin[2] + region[2] - 1) * slice +
                                    (origin[1] + region[1] - 1) * row + origin[0] + region[0]);
}

static const size_t *move_box(const size_t *origin, size_t shift, size_t moved[3])
{
  if (!origin || shift == 0)
    return origin;
  memcpy(moved, origin, 3 * sizeof(*moved));
  moved[0] += shift;
  return moved;
}

static size_t pixel_of(cl_mem image)
{
  size_t bytes = 0;
  clpi_target->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(bytes), &bytes, NULL);
  return bytes;
}

/* How far to move what a buffer has of an image. */
static size_t shift_of_pixels(cl_mem buffer, size_t offset, cl_mem image, const size_t *region)
{
  if (!region || !clpi_mem_find(buffer))
    return 0;
  return clpi_mem_shift(buffer, offset + pixel_of(image) * region[0] * region[1] * region[2]);
}

/* PoCL checks the line of an image over a buffer as bytes of the buffer. */
static const size_t *move_line(cl_mem image, const size_t *origin, const size_t *region,
                               size_t moved[3])
{
  const clpi_mem *part = clpi_mem_find(image);
  if (!origin || !region || !part || !part->whole)
    return origin;
  size_t shift = clpi_mem_shift(image, pixel_of(image) * (origin[0] + region[0]));
  return move_box(origin, shift, moved);
}

/* --- functions that give a queue work --- */

static bool work_again(clpi_attempt *attempt, cl_int code, cl_command_queue handle)
{
  const clpi_queue *queue = code ? clpi_queue_find(handle) : NULL;
  return code && clpi_attempt_again(attempt, code, queue ? queue->context : NULL);
}

/* The one list: name, parameters, arguments, and how their ranges move. */
#define WORK(X)                                                                                    \
  X(clEnqueueReadBuffer,                                                                           \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,         \
     void *host, cl_uint count, const cl_event *list, cl_event *event),                            \
    (queue, buffer, blocking, offset, bytes, host, count, list, event),                            \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueReadBufferRect,                                                                       \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,                \
     const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,        \
     size_t host_row_pitch, size_t host_slice_pitch, void *host, cl_uint count,                    \
     const cl_event *list, cl_event *event),                                                       \
    (queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, \
     host_slice_pitch, host, count, list, event),                                                  \
    origin = move_box(origin, shift_of_box(buffer, origin, region, row_pitch, slice_pitch),        \
                      (size_t[3]){0}))                                                             \
  X(clEnqueueWriteBuffer,                                                                          \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,         \
     const void *host, cl_uint count, const cl_event *list, cl_event *event),                      \
    (queue, buffer, blocking, offset, bytes, host, count, list, event),                            \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueWriteBufferRect,                                                                      \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,                \
     const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,        \
     size_t host_row_pitch, size_t host_slice_pitch, const void *host, cl_uint count,              \
     const cl_event *list, cl_event *event),                                                       \
    (queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, \
     host_slice_pitch, host, count, list, event),                                                  \
    origin = move_box(origin, shift_of_box(buffer, origin, region, row_pitch, slice_pitch),        \
                      (size_t[3]){0}))                                                             \
  X(clEnqueueFillBuffer,                                                                           \
    (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,              \
     size_t offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event),           \
    (queue, buffer, pattern, pattern_size, offset, bytes, count, list, event),                     \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueCopyBuffer,                                                                           \
    (cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset,                   \
     size_t target_offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event),    \
    (queue, source, target, source_offset, target_offset, bytes, count, list, event),              \
    size_t shift = clpi_mem_shift(source, source_offset + bytes) |                                 \
                   clpi_mem_shift(target, target_offset + bytes);                                  \
    source_offset += shift; target_offset += shift)                                                \
  X(clEnqueueCopyBufferRect,                                                                       \
    (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,            \
     const size_t *target_origin, const size_t *region, size_t source_row_pitch,                   \
     size_t source_slice_pitch, size_t target_row_pitch, size_t target_slice_pitch, cl_uint count, \
     const cl_event *list, cl_event *event),                                                       \
    (queue, source, target, source_origin, target_origin, region, source_row_pitch,                \
     source_slice_pitch, target_row_pitch, target_slice_pitch, count, list, event),                \
    size_t shift =                                                                                 \
        shift_of_box(source, source_origin, region, source_row_pitch, source_slice_pitch) |        \
        shift_of_box(target, target_origin, region, target_row_pitch, target_slice_pitch);         \
    source_origin = move_box(source_origin, shift, (size_t[3]){0});                                \
    target_origin = move_box(target_origin, shift, (size_t[3]){0}))                                \
  X(clEnqueueReadImage,                                                                            \
    (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,                 \
     const size_t *region, size_t row_pitch, size_t slice_pitch, void *host, cl_uint count,        \
     const cl_event *list, cl_event *event),                                                       \
    (queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list, event),    \
    origin = move_line(image, origin, region, (size_t[3]){0}))                                     \
  X(clEnqueueWriteImage,                                                                           \
    (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,                 \
     const size_t *region, size_t row_pitch, size_t slice_pitch, const void *host, cl_uint count,  \
     const cl_event *list, cl_event *event),                                                       \
    (queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list, event),    \
    origin = move_line(image, origin, region, (size_t[3]){0}))                                     \
  X(clEnqueueFillImage,                                                                            \
    (cl_command_queue queue, cl_mem image, const void *fill_color, const size_t origin[3],         \
     const size_t region[3], cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, image, fill_color, origin, region, count, list, event),                                \
    origin = move_line(image, origin, region, (size_t[3]){0}))                                     \
  X(clEnqueueCopyImage,                                                                            \
    (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,            \
     const size_t *target_origin, const size_t *region, cl_uint count, const cl_event *list,       \
     cl_event *event),                                                                             \
    (queue, source, target, source_origin, target_origin, region, count, list, event),             \
    source_origin = move_line(source, source_origin, region, (size_t[3]){0});                      \
    target_origin = move_line(target, target_origin, region, (size_t[3]){0}))                      \
  X(clEnqueueCopyImageToBuffer,                                                                    \
    (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,            \
     const size_t *region, size_t target_offset, cl_uint count, const cl_event *list,              \
     cl_event *event),                                                                             \
    (queue, source, target, source_origin, region, target_offset, count, list, event),             \
    target_offset += shift_of_pixels(target, target_offset, source, region);                       \
    source_origin = move_line(source, source_origin, region, (size_t[3]){0}))                      \
  X(clEnqueueCopyBufferToImage,                                                                    \
    (cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset,                   \
     const size_t *target_origin, const size_t *region, cl_uint count, const cl_event *list,       \
     cl_event *event),                                                                             \
    (queue, source, target, source_offset, target_origin, region, count, list, event),             \
    source_offset += shift_of_pixels(source, source_offset, target, region);                       \
    target_origin = move_line(target, target_origin, region, (size_t[3]){0}))                      \
  X(clEnqueueUnmapMemObject,                                                                       \
    (cl_command_queue queue, cl_mem mem, void *host, cl_uint count, const cl_event *list,          \
     cl_event *event),                                                                             \
    (queue, mem, host, count, list, event), (void)0)                                               \
  X(clEnqueueMigrateMemObjects,                                                                    \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_mem_migration_flags flags,  \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, mem_count, mems, flags, count, list, event), (void)0)                                  \
  X(clEnqueueNDRangeKernel,                                                                        \
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,           \
     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,               \
     cl_event *event),                                                                             \
    (queue, kernel, dimensions, offset, global, local, count, list, event), (void)0)               \
  X(clEnqueueTask,                                                                                 \
    (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *list,                \
     cl_event *event),                                                                             \
    (queue, kernel, count, list, event), (void)0)                                                  \
  X(clEnqueueSVMMemcpy,                                                                            \
    (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,           \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, blocking, to, from, bytes, count, list, event), (void)0)                               \
  X(clEnqueueSVMMemFill,                                                                           \
    (cl_command_queue queue, void *to, const void *pattern, size_t pattern_bytes, size_t bytes,    \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, to, pattern, pattern_bytes, bytes, count, list, event), (void)0)                       \
  X(clEnqueueSVMMap,                                                                               \
    (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *at, size_t bytes,         \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, blocking, flags, at, bytes, count, list, event), (void)0)                              \
  X(clEnqueueSVMUnmap,                                                                             \
    (cl_command_queue queue, void *at, cl_uint count, const cl_event *list, cl_event *event),      \
    (queue, at, count, list, event), (void)0)                                                      \
  X(clEnqueueAcquireGLObjects,                                                                     \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0)                                         \
  X(clEnqueueReleaseGLObjects,                                                                     \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0)                                         \
  X(clEnqueueAcquireEGLObjectsKHR,                                                                 \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0)                                         \
  X(clEnqueueReleaseEGLObjectsKHR,                                                                 \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0)                                         \
  X(clEnqueueSVMMigrateMem,                                                                        \
    (cl_command_queue queue, cl_uint pointer_count, const void **pointers, const size_t *sizes,    \
     cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event),          \
    (queue, pointer_count, pointers, sizes, flags, count, list, event), (void)0)

#define DEFINE(name, parameters, arguments, move)                                                  \
  static cl_int CL_API_CALL seen_##name parameters                                                 \
  {                                                                                                \
    move;                                                                                          \
    cl_int code;                                                                                   \
    cl_event *longer = begin_work(queue, &count, &list);                                           \
    clpi_attempt attempt = clpi_attempt_begin();                                                   \
    do                                                                                             \
      code = clpi_target->name arguments;                                                          \
    while (work_again(&attempt, code, queue));                                                     \
    end_work(longer);                                                                              \
    return code;                                                                                   \
  }
WORK(DEFINE)
#undef DEFINE

/* Calls that use no memory, and without a list wait for all earlier work. */
#define BARE_WORK(X)                                                                               \
  X(clEnqueueMarkerWithWaitList,                                                                   \
    (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, count, list, event))                                                                   \
  X(clEnqueueBarrierWithWaitList,                                                                  \
    (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, count, list, event))                                                                   \
  X(clEnqueueMarker, (cl_command_queue queue, cl_event * event), (queue, event))                   \
  X(clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *list),         \
    (queue, count, list))                                                                          \
  X(clEnqueueBarrier, (cl_command_queue queue), (queue))

#define DEFINE(name, parameters, arguments)                                                        \
  static cl_int CL_API_CALL seen_##name parameters                                                 \
  {                                                                                                \
    begin_bare_work(queue);                                                                        \
    return clpi_target->name arguments;                                                            \
  }
BARE_WORK(DEFINE)
#undef DEFINE

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                    const cl_event *list, cl_event *event, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_event *longer = begin_work(queue, &count, &list);
  void *host;
  offset += clpi_mem_shift(buffer, offset + bytes);
  clpi_mem_map(buffer);
  clpi_attempt attempt = clpi_attempt_begin();
  do
    host = clpi_target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, count,
                                           list, event, &result);
  while (work_again(&attempt, result, queue));
  end_work(longer);
  if (code)
    *code = result;
  return host;
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   cl_map_flags flags, const size_t *origin, const size_t *region,
                                   size_t *row_pitch, size_t *slice_pitch, cl_uint count,
                                   const cl_event *list, cl_event *event, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_event *longer = begin_work(queue, &count, &list);
  void *host;
  clpi_mem_map(image);
  origin = move_line(image, origin, region, (size_t[3]){0});
  clpi_attempt attempt = clpi_attempt_begin();
  do
    host = clpi_target->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_pitch,
                                          slice_pitch, count, list, event, &result);
  while (work_again(&attempt, result, queue));
  end_work(longer);
  if (code)
    *code = result;
  return host;
}

/* --- work that runs functions of the program, which may wait for anything --- */

static cl_event *begin_dependent_work(cl_command_queue handle, cl_uint *count,
                                      const cl_event **list)
{
  const clpi_queue *queue = clpi_queue_find(handle);
  if (queue)
    clpi_order_depends(queue->context);
  return begin_work(handle, count, list);
}

static cl_int CL_API_CALL native_kernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                        void *arguments, size_t bytes, cl_uint mem_count,
                                        const cl_mem *mems, const void **places, cl_uint count,
                                        const cl_event *list, cl_event *event)
{
  cl_event *longer = begin_dependent_work(queue, &count, &list);
  cl_int code = clpi_target->clEnqueueNativeKernel(queue, function, arguments, bytes, mem_count,
                                                   mems, places, count, list, event);
  end_work(longer);
  return code;
}

static cl_int CL_API_CALL svm_free(cl_command_queue queue, cl_uint pointer_count, void *pointers[],
                                   void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[],
                                                               void *),
                                   void *user_data, cl_uint count, const cl_event *list,
                                   cl_event *event)
{
  cl_event *longer = begin_dependent_work(queue, &count, &list);
  cl_int code = clpi_target->clEnqueueSVMFree(queue, pointer_count, pointers, function, user_data,
                                              count, list, event);
  end_work(longer);
  return code;
}

void clpi_enqueue_fill(cl_icd_dispatch *functions)
{
#define SET(name, parameters, arguments, move) functions->name = seen_##name;
  WORK(SET)
#undef SET
#define SET(name, parameters, arguments) functions->name = seen_##name;
  BARE_WORK(SET)
#undef SET
  functions->clEnqueueMapBuffer = map_buffer;
  functions->clEnqueueMapImage = map_image;
  functions->clEnqueueNativeKernel = native_kernel;
  functions->clEnqueueSVMFree = svm_free;
}
