/* SPDX-License-Identifier: MIT */
/* Where a program calls the library, and where the library calls the program. From these functions
 * the line profile tells which frames of a call stack are the library's own.
 *
 * Marked functions go into sections of their own, whose bounds the linker names, so they are found
 * in the shared library, in statically linked programs, and in stripped ones. A marked function
 * must be on the stack during the call. A function that ends in a tail call is not, so what it
 * calls is marked as well. */
#ifndef CLPOOL_CORE_BASE_BOUNDARY_H
#define CLPOOL_CORE_BASE_BOUNDARY_H

/* Marks every public function that may show an allocation to hooks. */
#define CLPI_ENTRY __attribute__((noinline, section("clpool_entry")))

/* Marks every function that calls back into the program, which may allocate in turn. The frames
 * from an entry to an exit that it calls are the library's. Of the functions that call an
 * allocator, only those with which pools allocate and free are marked. */
#define CLPI_EXIT __attribute__((noinline, section("clpool_exit")))

#endif
