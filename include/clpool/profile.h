/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/profile.h - a line profile: reports which lines of a program take memory.
 *
 * Semantics: cupy.cuda.memory_hooks.LineProfileHook, with C call stacks. */
#ifndef CLPOOL_PROFILE_H
#define CLPOOL_PROFILE_H

#include <clpool/hook.h>
#include <clpool/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counts bytes by call stack. All bytes are rounded (`mem_size` of clp_hook_event):
 *
 * - used: requested from pools, once for each request, including hits and failed requests;
 * - acquired: taken from the device; on an arena, in segments;
 * - in use: of buffers that were allocated and not yet released.
 *
 * Recording stores only addresses, no names. Its space grows with the number of different stacks
 * and of buffers in use; its time does not depend on them. Several threads may record at once,
 * while another one writes a report.
 *
 * A buffer is in use from its allocation to its release, by any thread, if the hook sees both:
 *
 * - If the hook does not see the release, the buffer counts as in use until a buffer with the same
 *   buffer_id is allocated. A hook from clp_pool_add_hook sees all threads. One from clp_hook_push
 *   sees the releases of its thread, until clp_hook_pop.
 * - If the hook did not see the allocation, the release changes nothing.
 * - If the host has no memory to record a buffer, the buffer is not counted.
 *
 * After a fork, the child's copy records nothing. clp_line_profile_destroy does nothing with it,
 * and all calls that return a status return CLP_NOT_SUPPORTED.
 *
 * The profile keeps the outermost 256 frames of a stack. It sees neither code without unwind tables
 * nor its callers. */
typedef struct clp_line_profile clp_line_profile;

/** What a report shows of each line. */
typedef enum clp_line_profile_view {
  CLP_VIEW_SUMS, /**< used and acquired bytes, since the beginning or the last reset */
  CLP_VIEW_NOW,  /**< bytes in use now */
  CLP_VIEW_PEAK  /**< bytes in use at the first moment of their highest sum, since the beginning or
                    the last reset */
} clp_line_profile_view;

/** Makes an empty profile. It keeps the outermost `max_depth` frames of each stack, including the
 * root; 0 means all. `*out` is the caller's until clp_line_profile_destroy; NULL on failure. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL out.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_line_profile_create(unsigned max_depth, clp_line_profile **out);

/** Ends the profile, whose hook must not be registered anywhere any more. NULL is a no-op. Any
 * thread. */
void clp_line_profile_destroy(clp_line_profile *profile);

/** Returns the hook that records, for clp_hook_push or clp_pool_add_hook. Borrowed, valid as long
 * as the profile. NULL for NULL. Any thread. */
const clp_hook *clp_line_profile_hook(clp_line_profile *profile);

/** Writes the tree of CLP_VIEW_SUMS to `file`: one frame on each line, indented by two spaces for
 * each level, in the order in which frames were first seen:
 *
 *   _root (4.00KB, 4.00KB)
 *     examples/array.c:18:main (4.00KB, 4.00KB)
 *       examples/array.c:52:axpy (1.00KB, 1.00KB)
 *
 * - The format is `{file}:{line}:{function} ({used}, {acquired})`. Sizes have two decimals, and
 *   their units are powers of 1024.
 * - Inlined calls are frames, too. The library's own frames are left out, and those that call main
 *   or a thread's first function. If the program is linked statically, and is stripped or the
 *   library has no libdw, one or two of these may stay above main.
 * - Names come from the debug information of the objects that are loaded at this call, if the
 *   library was built with libdw. The information is in the object itself, or by build ID below
 *   /usr/lib/debug. File names are as given to the compiler.
 * - Without debug information a frame is `object+0xoffset`, as addr2line and objdump count offsets,
 *   with `:{function}` if that is known. A line feed in a name becomes a space.
 * - If the host had no memory to record some stacks, a last line, `_unrecorded`, has their bytes.
 *
 * The file is flushed, and stays the caller's. Any thread.
 * CLP_INVALID_ARGUMENT: NULL argument.
 * CLP_IO_ERROR: the file cannot be written; native_code is errno.
 * CLP_OUT_OF_HOST_MEMORY. But if libdw finds no memory, it may abort the program. */
clp_status clp_line_profile_print(clp_line_profile *profile, FILE *file);

/** Writes the tree of any view, as clp_line_profile_print. For CLP_VIEW_NOW and CLP_VIEW_PEAK the
 * format is `{file}:{line}:{function} ({in use})`, and lines without bytes in use are left out.
 * CLP_INVALID_ARGUMENT: also an unknown view. */
clp_status clp_line_profile_print_view(clp_line_profile *profile, clp_line_profile_view view,
                                       FILE *file);

/** Writes the folded stacks of CLP_VIEW_SUMS to `file`, for flame graph tools and speedscope. Each
 * line is `outermost;...;innermost bytes`, with the used bytes of exactly that stack. Frames are as
 * in clp_line_profile_print, without the root; a semicolon in a frame becomes a colon. Bytes
 * without any frame belong to `_root`. Any thread. Statuses as of clp_line_profile_print. */
clp_status clp_line_profile_write_folded(clp_line_profile *profile, FILE *file);

/** Writes the folded stacks of any view, with its used bytes or its bytes in use. Any thread.
 * Statuses as of clp_line_profile_print_view. */
clp_status clp_line_profile_write_folded_view(clp_line_profile *profile, clp_line_profile_view view,
                                              FILE *file);

/** Forgets all that was recorded, including the buffers in use. Any thread.
 * CLP_INVALID_ARGUMENT: NULL profile. */
clp_status clp_line_profile_reset(clp_line_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
