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

/** Bytes by call stack: `used`, what was asked of pools, hits too, and `acquired`, what the device
 * was asked for, both as rounded, and whether they were given or not. Recording takes no name and
 * no file: addresses only, in space that grows with the number of different stacks. Several threads
 * may record at once, also while another reports.
 *
 * Of a stack of more than 256 frames, the outermost count, as where max_depth is less. Frames of
 * code without unwind tables, and what is outside of them, are not seen. */
typedef struct clp_line_profile clp_line_profile;

/** Makes an empty profile. `max_depth` counts the root and keeps the outermost frames; 0: all of
 * them. `*out` is an object with one reference, the caller's; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_line_profile_create(unsigned max_depth, clp_line_profile **out);

/** Drops the reference. Its hook is registered nowhere any more. NULL is a no-op. */
void clp_line_profile_destroy(clp_line_profile *profile);

/** The hook that records, for clp_hook_push or clp_pool_add_hook. Borrowed; lives as long as the
 * profile. NULL for NULL. */
const clp_hook *clp_line_profile_hook(clp_line_profile *profile);

/** Writes the tree, a frame a line, two blanks a level, in the order in which frames were first
 * seen:
 *
 *   _root (4.00KB, 4.00KB)
 *     examples/array.c:18:main (4.00KB, 4.00KB)
 *       examples/array.c:52:axpy (1.00KB, 1.00KB)
 *
 * `{file}:{line}:{function} ({used}, {acquired})`, sizes with two decimals in powers of 1024. Calls
 * that were inlined are frames too. The library's own frames are left out, and so is what calls
 * main and the first function of a thread, unless it has no name: in programs that were linked
 * statically, and stripped or without libdw, a frame or two of that stand above main. Files are
 * named as they were for the compiler. Names come from the debug information of what is loaded now,
 * there or by build ID below /usr/lib/debug, where the library was built with libdw; else a frame
 * is `object+0xoffset`, as addr2line and objdump count, with `:{function}` where only that is
 * known. Bytes of stacks that could not be recorded for want of host memory are told in a last
 * line,
 * `_unrecorded`. A line end in a name becomes a blank. The file is flushed. Any thread.
 *
 * CLP_INVALID_ARGUMENT: NULL argument. CLP_IO_ERROR: the file takes no more; native_code is errno.
 * CLP_OUT_OF_HOST_MEMORY; where it is libdw that finds none, the program may end: some of its
 * tables insist. */
clp_status clp_line_profile_print(clp_line_profile *profile, FILE *file);

/** Writes folded stacks, `outermost;...;innermost bytes` a line, as flame graph tools and
 * speedscope read them: frames as above, without the root, and the used bytes of just that stack. A
 * semicolon in a frame becomes a colon; bytes without any frame are `_root`'s. Any thread. Statuses
 * as above. */
clp_status clp_line_profile_write_folded(clp_line_profile *profile, FILE *file);

/** Forgets what was recorded. Any thread. CLP_INVALID_ARGUMENT: NULL profile. */
clp_status clp_line_profile_reset(clp_line_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
