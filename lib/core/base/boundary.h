/* SPDX-License-Identifier: MIT */
/* Marks the functions in which the program calls the library, or the library calls the program. The
 * line profile uses them to find the library's own frames in a call stack.
 *
 * Marked functions are in sections of their own, whose bounds the linker names. So the profile
 * finds them in the shared library, and in programs that are linked statically or stripped. A
 * marked function must be on the stack during the call. A function that ends in a tail call is not,
 * so the function that it calls is marked as well. */
#ifndef CLPOOL_CORE_BASE_BOUNDARY_H
#define CLPOOL_CORE_BASE_BOUNDARY_H

/* Marks every public function that may show an allocation to hooks. */
#define CLPI_ENTRY __attribute__((noinline, section("clpool_entry")))

/* Marks every function that calls back into the program, which may allocate in turn. The frames
 * from an entry to an exit that it calls are the library's. Of the functions that call an
 * allocator, only those with which pools allocate and free are marked. */
#define CLPI_EXIT __attribute__((noinline, section("clpool_exit")))

#endif
