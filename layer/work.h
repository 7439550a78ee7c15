/* SPDX-License-Identifier: MIT */
/* The functions that give a queue work on memory. */
#ifndef CLPOOL_LAYER_WORK_H
#define CLPOOL_LAYER_WORK_H

#include <CL/cl_layer.h>

/* Sets a layer's functions of the list below. Each layer has this. */
void clpi_work_fill(cl_icd_dispatch *functions);

/* The one list: name, parameters, arguments, what the call does with memory, and how its ranges
 * move. A layer that wants to know what a call does defines the names in capitals; all define
 * DEPENDS, for work that runs the program's own functions, which may wait for anything. */
#define CLPI_WORK(X)                                                                               \
  X(clEnqueueReadBuffer,                                                                           \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,         \
     void *host, cl_uint count, const cl_event *list, cl_event *event),                            \
    (queue, buffer, blocking, offset, bytes, host, count, list, event), READS(buffer),             \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueReadBufferRect,                                                                       \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,                \
     const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,        \
     size_t host_row_pitch, size_t host_slice_pitch, void *host, cl_uint count,                    \
     const cl_event *list, cl_event *event),                                                       \
    (queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, \
     host_slice_pitch, host, count, list, event),                                                  \
    READS(buffer),                                                                                 \
    origin = clpi_box_move(origin, clpi_box_shift(buffer, origin, region, row_pitch, slice_pitch), \
                           (size_t[3]){0}))                                                        \
  X(clEnqueueWriteBuffer,                                                                          \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,         \
     const void *host, cl_uint count, const cl_event *list, cl_event *event),                      \
    (queue, buffer, blocking, offset, bytes, host, count, list, event), WRITES(buffer),            \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueWriteBufferRect,                                                                      \
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,                \
     const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,        \
     size_t host_row_pitch, size_t host_slice_pitch, const void *host, cl_uint count,              \
     const cl_event *list, cl_event *event),                                                       \
    (queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, \
     host_slice_pitch, host, count, list, event),                                                  \
    WRITES(buffer),                                                                                \
    origin = clpi_box_move(origin, clpi_box_shift(buffer, origin, region, row_pitch, slice_pitch), \
                           (size_t[3]){0}))                                                        \
  X(clEnqueueFillBuffer,                                                                           \
    (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,              \
     size_t offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event),           \
    (queue, buffer, pattern, pattern_size, offset, bytes, count, list, event), WRITES(buffer),     \
    offset += clpi_mem_shift(buffer, offset + bytes))                                              \
  X(clEnqueueCopyBuffer,                                                                           \
    (cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset,                   \
     size_t target_offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event),    \
    (queue, source, target, source_offset, target_offset, bytes, count, list, event),              \
    COPIES(source, target),                                                                        \
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
    COPIES(source, target),                                                                        \
    size_t shift =                                                                                 \
        clpi_box_shift(source, source_origin, region, source_row_pitch, source_slice_pitch) |      \
        clpi_box_shift(target, target_origin, region, target_row_pitch, target_slice_pitch);       \
    source_origin = clpi_box_move(source_origin, shift, (size_t[3]){0});                           \
    target_origin = clpi_box_move(target_origin, shift, (size_t[3]){0}))                           \
  X(clEnqueueReadImage,                                                                            \
    (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,                 \
     const size_t *region, size_t row_pitch, size_t slice_pitch, void *host, cl_uint count,        \
     const cl_event *list, cl_event *event),                                                       \
    (queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list, event),    \
    READS(image), origin = clpi_line_move(image, origin, region, (size_t[3]){0}))                  \
  X(clEnqueueWriteImage,                                                                           \
    (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,                 \
     const size_t *region, size_t row_pitch, size_t slice_pitch, const void *host, cl_uint count,  \
     const cl_event *list, cl_event *event),                                                       \
    (queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list, event),    \
    WRITES(image), origin = clpi_line_move(image, origin, region, (size_t[3]){0}))                 \
  X(clEnqueueFillImage,                                                                            \
    (cl_command_queue queue, cl_mem image, const void *fill_color, const size_t origin[3],         \
     const size_t region[3], cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, image, fill_color, origin, region, count, list, event), WRITES(image),                 \
    origin = clpi_line_move(image, origin, region, (size_t[3]){0}))                                \
  X(clEnqueueCopyImage,                                                                            \
    (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,            \
     const size_t *target_origin, const size_t *region, cl_uint count, const cl_event *list,       \
     cl_event *event),                                                                             \
    (queue, source, target, source_origin, target_origin, region, count, list, event),             \
    COPIES(source, target),                                                                        \
    source_origin = clpi_line_move(source, source_origin, region, (size_t[3]){0});                 \
    target_origin = clpi_line_move(target, target_origin, region, (size_t[3]){0}))                 \
  X(clEnqueueCopyImageToBuffer,                                                                    \
    (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,            \
     const size_t *region, size_t target_offset, cl_uint count, const cl_event *list,              \
     cl_event *event),                                                                             \
    (queue, source, target, source_origin, region, target_offset, count, list, event),             \
    COPIES(source, target),                                                                        \
    target_offset += clpi_pixels_shift(target, target_offset, source, region);                     \
    source_origin = clpi_line_move(source, source_origin, region, (size_t[3]){0}))                 \
  X(clEnqueueCopyBufferToImage,                                                                    \
    (cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset,                   \
     const size_t *target_origin, const size_t *region, cl_uint count, const cl_event *list,       \
     cl_event *event),                                                                             \
    (queue, source, target, source_offset, target_origin, region, count, list, event),             \
    COPIES(source, target),                                                                        \
    source_offset += clpi_pixels_shift(source, source_offset, target, region);                     \
    target_origin = clpi_line_move(target, target_origin, region, (size_t[3]){0}))                 \
  X(clEnqueueUnmapMemObject,                                                                       \
    (cl_command_queue queue, cl_mem mem, void *host, cl_uint count, const cl_event *list,          \
     cl_event *event),                                                                             \
    (queue, mem, host, count, list, event), UNMAPS(mem), (void)0)                                  \
  X(clEnqueueMigrateMemObjects,                                                                    \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_mem_migration_flags flags,  \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, mem_count, mems, flags, count, list, event), (void)0, (void)0)                         \
  X(clEnqueueNDRangeKernel,                                                                        \
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,           \
     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,               \
     cl_event *event),                                                                             \
    (queue, kernel, dimensions, offset, global, local, count, list, event), RUNS(kernel), (void)0) \
  X(clEnqueueTask,                                                                                 \
    (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *list,                \
     cl_event *event),                                                                             \
    (queue, kernel, count, list, event), RUNS(kernel), (void)0)                                    \
  X(clEnqueueNativeKernel,                                                                         \
    (cl_command_queue queue, void(CL_CALLBACK * function)(void *), void *arguments, size_t bytes,  \
     cl_uint mem_count, const cl_mem *mems, const void **places, cl_uint count,                    \
     const cl_event *list, cl_event *event),                                                       \
    (queue, function, arguments, bytes, mem_count, mems, places, count, list, event),              \
    WRITES_ALL(mems, mem_count), DEPENDS(queue))                                                   \
  X(clEnqueueSVMFree,                                                                              \
    (cl_command_queue queue, cl_uint pointer_count, void *pointers[],                              \
     void(CL_CALLBACK * function)(cl_command_queue, cl_uint, void *[], void *), void *user_data,   \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, pointer_count, pointers, function, user_data, count, list, event),                     \
    FREES_SVM(pointers, function ? 0 : pointer_count), DEPENDS(queue))                             \
  X(clEnqueueSVMMemcpy,                                                                            \
    (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,           \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, blocking, to, from, bytes, count, list, event), COPIES_SVM(from, to), (void)0)         \
  X(clEnqueueSVMMemFill,                                                                           \
    (cl_command_queue queue, void *to, const void *pattern, size_t pattern_bytes, size_t bytes,    \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, to, pattern, pattern_bytes, bytes, count, list, event), WRITES_SVM(to), (void)0)       \
  X(clEnqueueSVMMap,                                                                               \
    (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *at, size_t bytes,         \
     cl_uint count, const cl_event *list, cl_event *event),                                        \
    (queue, blocking, flags, at, bytes, count, list, event), MAPS_SVM(at, flags), (void)0)         \
  X(clEnqueueSVMUnmap,                                                                             \
    (cl_command_queue queue, void *at, cl_uint count, const cl_event *list, cl_event *event),      \
    (queue, at, count, list, event), UNMAPS_SVM(at), (void)0)                                      \
  X(clEnqueueAcquireGLObjects,                                                                     \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0, (void)0)                                \
  X(clEnqueueReleaseGLObjects,                                                                     \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0, (void)0)                                \
  X(clEnqueueAcquireEGLObjectsKHR,                                                                 \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0, (void)0)                                \
  X(clEnqueueReleaseEGLObjectsKHR,                                                                 \
    (cl_command_queue queue, cl_uint mem_count, const cl_mem *mems, cl_uint count,                 \
     const cl_event *list, cl_event *event),                                                       \
    (queue, mem_count, mems, count, list, event), (void)0, (void)0)                                \
  X(clEnqueueSVMMigrateMem,                                                                        \
    (cl_command_queue queue, cl_uint pointer_count, const void **pointers, const size_t *sizes,    \
     cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event),          \
    (queue, pointer_count, pointers, sizes, flags, count, list, event), (void)0, (void)0)

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
    origin = clpi_line_move(image, origin, region, (size_t[3]){0}))

#endif
