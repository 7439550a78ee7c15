/* SPDX-License-Identifier: MIT */
/* Where programs come into the library, and where it calls them: the line profile tells by these
 * functions which frames of a call stack are the library's own.
 *
 * Marked functions lie in sections of their own, whose bounds the linker names. So they are known
 * in the shared library and in a program that the library was linked into, also when that is
 * stripped. Only functions that are on the stack meanwhile count, so one that ends in a call of
 * another is no mark: where it does, the other is marked, too. */
#ifndef CLPOOL_CORE_BASE_BOUNDARY_H
#define CLPOOL_CORE_BASE_BOUNDARY_H

/* A public function that may show hooks an allocation: each of them. */
#define CLPI_ENTRY __attribute__((noinline, section("clpool_entry")))

/* A function that calls one of the program's, which may allocate in turn: where it stands below an
 * entry, both and what is between them are the library's. Of those that call an allocator, they are
 * the ones that pools allocate and free with. */
#define CLPI_EXIT __attribute__((noinline, section("clpool_exit")))

#endif
