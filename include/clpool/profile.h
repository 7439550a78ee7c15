/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/profile.h - which lines of a program take memory.
 *
 * Semantics: cupy.cuda.memory_hooks.LineProfileHook, on C call stacks. */
#ifndef CLPOOL_PROFILE_H
#define CLPOOL_PROFILE_H

#include <clpool/hook.h>
#include <clpool/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes by call stack, all of them rounded (`mem_size` of clp_hook_event):
 *
 *   used      what pools were asked for: each request once, hits and refused requests included
 *   acquired  what the device gave; on an arena, segments
 *   in use    the blocks of buffers that were allocated and not released
 *
 * Recording stores addresses alone, no names. Its space grows with the number of different stacks
 * and of buffers in use, its time with neither. Several threads may record at once, and another may
 * report meanwhile.
 *
 * A buffer is in use from its allocation to its release, by any thread, if the hook sees both:
 *
 *   - If the hook does not see the release, the buffer stays in use until a buffer with the same
 *     buffer_id is allocated. A hook that clp_pool_add_hook registers sees all threads; one of
 *     clp_hook_push sees the releases of its thread, until clp_hook_pop.
 *   - If the hook did not see the allocation, the release changes nothing.
 *   - A buffer for which host memory ran out is not counted.
 *
 * After fork, the child's copy records nothing, clp_line_profile_destroy does nothing with it, and
 * all else is CLP_NOT_SUPPORTED.
 *
 * Of a stack of more than 256 frames the outermost are kept, as with a smaller max_depth. Frames of
 * code without unwind tables, and frames further out, are not seen. */
typedef struct clp_line_profile clp_line_profile;

/** What a report shows of each line. */
typedef enum clp_line_profile_view {
  CLP_VIEW_SUMS, /**< used and acquired bytes since the beginning or the last reset */
  CLP_VIEW_NOW,  /**< bytes in use now */
  CLP_VIEW_PEAK  /**< bytes in use at the moment of their highest sum, since the beginning or the
                    last reset; the first such moment */
} clp_line_profile_view;

/** Makes an empty profile. At most `max_depth` frames of a stack are kept, the outermost, the root
 * being one of them; 0: all. `*out` is the caller's until clp_line_profile_destroy; NULL on
 * failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_line_profile_create(unsigned max_depth, clp_line_profile **out);

/** Ends the profile, whose hook must not be registered anywhere any more. NULL is a no-op. Any
 * thread. */
void clp_line_profile_destroy(clp_line_profile *profile);

/** The hook that records, for clp_hook_push or clp_pool_add_hook. Borrowed; lives as long as the
 * profile. NULL for NULL. */
const clp_hook *clp_line_profile_hook(clp_line_profile *profile);

/** Writes the tree of CLP_VIEW_SUMS, a frame a line, two blanks a level, in the order in which
 * frames were first seen:
 *
 *   _root (4.00KB, 4.00KB)
 *     examples/array.c:18:main (4.00KB, 4.00KB)
 *       examples/array.c:52:axpy (1.00KB, 1.00KB)
 *
 * `{file}:{line}:{function} ({used}, {acquired})`, sizes with two decimals in powers of 1024. Calls
 * that were inlined are frames too. The library's own frames are left out, and so are those that
 * call main or a thread's first function, as far as they have names: in a program that was linked
 * statically, and is stripped or has no libdw, one or two of them stand above main. Files are named
 * as the compiler was told. Names come from the debug information of the objects that are loaded
 * when this is called, in the object itself or by build ID below /usr/lib/debug, if the library was
 * built with libdw. Otherwise a frame is `object+0xoffset`, as addr2line and objdump count, with
 * `:{function}` where that alone is known. Bytes of stacks that could not be recorded for want of
 * host memory are in a last line, `_unrecorded`. A line end in a name becomes a blank. The file is
 * flushed, and stays the caller's. Any thread.
 *
 * CLP_INVALID_ARGUMENT: NULL argument. CLP_IO_ERROR: the file takes no more; native_code is errno.
 * CLP_OUT_OF_HOST_MEMORY; if it is libdw that finds no memory, it may end the program. */
clp_status clp_line_profile_print(clp_line_profile *profile, FILE *file);

/** Writes the tree of any view. In CLP_VIEW_NOW and CLP_VIEW_PEAK a line has one figure,
 * `{file}:{line}:{function} ({in use})`, and lines without bytes in use are left out. Any thread.
 * Statuses as above; CLP_INVALID_ARGUMENT: also an unknown view. */
clp_status clp_line_profile_print_view(clp_line_profile *profile, clp_line_profile_view view,
                                       FILE *file);

/** Writes folded stacks of CLP_VIEW_SUMS, `outermost;...;innermost bytes` a line, as flame graph
 * tools and speedscope read them: frames as above, without the root, and the used bytes of just
 * that stack. A semicolon in a frame becomes a colon; bytes without any frame are `_root`'s. Any
 * thread. Statuses as above. */
clp_status clp_line_profile_write_folded(clp_line_profile *profile, FILE *file);

/** Writes folded stacks of any view: its used bytes, or those in use. Any thread. Statuses as
 * above. */
clp_status clp_line_profile_write_folded_view(clp_line_profile *profile, clp_line_profile_view view,
                                              FILE *file);

/** Forgets what was recorded, buffers in use included. Any thread.
 * CLP_INVALID_ARGUMENT: NULL profile. */
clp_status clp_line_profile_reset(clp_line_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
