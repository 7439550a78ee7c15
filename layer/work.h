/* SPDX-License-Identifier: MIT */
/* The functions that give a queue work on memory. */
#ifndef CLPOOL_LAYER_WORK_H
#define CLPOOL_LAYER_WORK_H

#include <CL/cl_layer.h>

/* Sets a layer's functions of the list below. Each layer has this. */
void clpi_work_fill(cl_icd_dispatch *functions);

/* The whole of a function's parameters and arguments in the first list. */
#define CLPI_PARAMETERS(...)                                                                       \
  (cl_command_queue queue, __VA_ARGS__, cl_uint count, const cl_event *list, cl_event *event)
#define CLPI_ARGUMENTS(...) (queue, __VA_ARGS__, count, list, event)

/* In the lists, how the origin of a line or of a box of bytes moves. */
#define CLPI_MOVE_LINE(image, origin)                                                              \
  (origin = clpi_line_move(image, origin, region, (size_t[3]){0}))
#define CLPI_MOVE_BOX(buffer, origin)                                                              \
  (origin = clpi_box_move(origin, clpi_box_shift(buffer, origin, region, row_pitch, slice_pitch),  \
                          (size_t[3]){0}))

/* Calls that differ in their names, and in what they do with memory. */
#define CLPI_BYTES(X, name, type, USES)                                                            \
  X(name, (cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, type * host),             \
    (buffer, blocking, offset, bytes, host), USES(buffer),                                         \
    offset += clpi_mem_shift(buffer, offset + bytes))
#define CLPI_BOX(X, name, type, USES)                                                              \
  X(name,                                                                                          \
    (cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,             \
     const size_t *region, size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,            \
     size_t host_slice_pitch, type *host),                                                         \
    (buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch,        \
     host_slice_pitch, host),                                                                      \
    USES(buffer), CLPI_MOVE_BOX(buffer, origin))
#define CLPI_PIXELS(X, name, type, USES)                                                           \
  X(name,                                                                                          \
    (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row_pitch, \
     size_t slice_pitch, type *host),                                                              \
    (image, blocking, origin, region, row_pitch, slice_pitch, host), USES(image),                  \
    CLPI_MOVE_LINE(image, origin))
#define CLPI_SHARED(X, name)                                                                       \
  X(name, (cl_uint mem_count, const cl_mem *mems), (mem_count, mems), USES_ALL(mems, mem_count),   \
    (void)0)

/* The one list: name, parameters, arguments, what the call does with memory, and how its ranges
 * move. All have a queue in front of the parameters, and events behind them. A layer that wants to
 * know what a call does defines the names in capitals; all define DEPENDS, for work that runs the
 * program's own functions, which may wait for anything. */
#define CLPI_WORK(X)                                                                               \
  CLPI_BYTES(X, clEnqueueReadBuffer, void, READS)                                                  \
  CLPI_BOX(X, clEnqueueReadBufferRect, void, READS)                                                \
  CLPI_BYTES(X, clEnqueueWriteBuffer, const void, WRITES)                                          \
  CLPI_BOX(X, clEnqueueWriteBufferRect, const void, WRITES)                                        \
  X(clEnqueueFillBuffer,                                                                           \
    (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t bytes),        \
    (buffer, pattern, pattern_size, offset, bytes), WRITES(buffer),                                \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueCopyBuffer,                                                                           \
    (cl_mem source, cl_mem target, size_t source_offset, size_t target_offset, size_t bytes),      \
    (source, target, source_offset, target_offset, bytes), COPIES(source, target),                 \
    size_t shift = clpi_mem_shift(source, source_offset + bytes) |                                 \
                   clpi_mem_shift(target, target_offset + bytes);                                  \
    source_offset += shift; target_offset += shift)                                                \
  X(clEnqueueCopyBufferRect,                                                                       \
    (cl_mem source, cl_mem target, const size_t *source_origin, const size_t *target_origin,       \
     const size_t *region, size_t source_row_pitch, size_t source_slice_pitch,                     \
     size_t target_row_pitch, size_t target_slice_pitch),                                          \
    (source, target, source_origin, target_origin, region, source_row_pitch, source_slice_pitch,   \
     target_row_pitch, target_slice_pitch),                                                        \
    COPIES(source, target),                                                                        \
    size_t shift =                                                                                 \
        clpi_box_shift(source, source_origin, region, source_row_pitch, source_slice_pitch) |      \
        clpi_box_shift(target, target_origin, region, target_row_pitch, target_slice_pitch);       \
    source_origin = clpi_box_move(source_origin, shift, (size_t[3]){0});                           \
    target_origin = clpi_box_move(target_origin, shift, (size_t[3]){0}))                           \
  CLPI_PIXELS(X, clEnqueueReadImage, void, READS)                                                  \
  CLPI_PIXELS(X, clEnqueueWriteImage, const void, WRITES)                                          \
  X(clEnqueueFillImage,                                                                            \
    (cl_mem image, const void *fill_color, const size_t origin[3], const size_t region[3]),        \
    (image, fill_color, origin, region), WRITES(image), CLPI_MOVE_LINE(image, origin))             \
  X(clEnqueueCopyImage,                                                                            \
    (cl_mem source, cl_mem target, const size_t *source_origin, const size_t *target_origin,       \
     const size_t *region),                                                                        \
    (source, target, source_origin, target_origin, region), COPIES(source, target),                \
    CLPI_MOVE_LINE(source, source_origin);                                                         \
    CLPI_MOVE_LINE(target, target_origin))                                                         \
  X(clEnqueueCopyImageToBuffer,                                                                    \
    (cl_mem source, cl_mem target, const size_t *source_origin, const size_t *region,              \
     size_t target_offset),                                                                        \
    (source, target, source_origin, region, target_offset), COPIES(source, target),                \
    target_offset += clpi_pixels_shift(target, target_offset, source, region);                     \
    CLPI_MOVE_LINE(source, source_origin))                                                         \
  X(clEnqueueCopyBufferToImage,                                                                    \
    (cl_mem source, cl_mem target, size_t source_offset, const size_t *target_origin,              \
     const size_t *region),                                                                        \
    (source, target, source_offset, target_origin, region), COPIES(source, target),                \
    source_offset += clpi_pixels_shift(source, source_offset, target, region);                     \
    CLPI_MOVE_LINE(target, target_origin))                                                         \
  X(clEnqueueUnmapMemObject, (cl_mem mem, void *host), (mem, host), UNMAPS(mem), (void)0)          \
  X(clEnqueueMigrateMemObjects,                                                                    \
    (cl_uint mem_count, const cl_mem *mems, cl_mem_migration_flags flags),                         \
    (mem_count, mems, flags), USES_ALL(mems, mem_count), (void)0)                                  \
  X(clEnqueueNDRangeKernel,                                                                        \
    (cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,             \
     const size_t *local),                                                                         \
    (kernel, dimensions, offset, global, local), RUNS(kernel), (void)0)                            \
  X(clEnqueueTask, (cl_kernel kernel), (kernel), RUNS(kernel), (void)0)                            \
  X(clEnqueueNativeKernel,                                                                         \
    (void(CL_CALLBACK * function)(void *), void *arguments, size_t bytes, cl_uint mem_count,       \
     const cl_mem *mems, const void **places),                                                     \
    (function, arguments, bytes, mem_count, mems, places), WRITES_ALL(mems, mem_count),            \
    DEPENDS(queue))                                                                                \
  X(clEnqueueSVMFree,                                                                              \
    (cl_uint pointer_count, void *pointers[],                                                      \
     void(CL_CALLBACK * function)(cl_command_queue, cl_uint, void *[], void *), void *user_data),  \
    (pointer_count, pointers, function, user_data), FREES_SVM(pointers, pointer_count, function),  \
    DEPENDS(queue))                                                                                \
  X(clEnqueueSVMMemcpy, (cl_bool blocking, void *to, const void *from, size_t bytes),              \
    (blocking, to, from, bytes), COPIES_SVM(from, to), (void)0)                                    \
  X(clEnqueueSVMMemFill, (void *to, const void *pattern, size_t pattern_bytes, size_t bytes),      \
    (to, pattern, pattern_bytes, bytes), WRITES_SVM(to), (void)0)                                  \
  X(clEnqueueSVMMap, (cl_bool blocking, cl_map_flags flags, void *at, size_t bytes),               \
    (blocking, flags, at, bytes), MAPS_SVM(at, flags), (void)0)                                    \
  X(clEnqueueSVMUnmap, (void *at), (at), UNMAPS_SVM(at), (void)0)                                  \
  CLPI_SHARED(X, clEnqueueAcquireGLObjects)                                                        \
  CLPI_SHARED(X, clEnqueueReleaseGLObjects)                                                        \
  CLPI_SHARED(X, clEnqueueAcquireEGLObjectsKHR)                                                    \
  CLPI_SHARED(X, clEnqueueReleaseEGLObjectsKHR)                                                    \
  X(clEnqueueSVMMigrateMem,                                                                        \
    (cl_uint pointer_count, const void **pointers, const size_t *sizes,                            \
     cl_mem_migration_flags flags),                                                                \
    (pointer_count, pointers, sizes, flags), (void)0, (void)0)

/* Those that map: name, what is mapped, parameters, arguments with the code in `result`, and the
 * move of the range. */
#define CLPI_MAPS(X)                                                                               \
  X(clEnqueueMapBuffer, buffer,                                                                    \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,   \
     size_t bytes, cl_uint count, const cl_event *list, cl_event *event, cl_int *code),            \
    (queue, buffer, blocking, flags, offset, bytes, count, list, event, &result),                  \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueMapImage, image,                                                                      \
    (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,                   \
     const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,           \
     cl_uint count, const cl_event *list, cl_event *event, cl_int *code),                          \
    (queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, count, list, event,    \
     &result),                                                                                     \
    CLPI_MOVE_LINE(image, origin))

#endif
