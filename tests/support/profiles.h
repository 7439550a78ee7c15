/* SPDX-License-Identifier: MIT */
/* Line profiles for tests: call stacks and names that the test makes up, and reports as text. */
#ifndef CLPT_PROFILES_H
#define CLPT_PROFILES_H

#include "hooks/line_profile.h"

#include <clpool/profile.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** The calling thread's stack from now on, for clpt_walk: outermost first, as a test thinks of it.
 * The addresses must live on. */
void clpt_set_stack(const uintptr_t *addresses, size_t count);

#define CLPT_SET_STACK(...)                                                                        \
  clpt_set_stack((const uintptr_t[]){__VA_ARGS__},                                                 \
                 sizeof((const uintptr_t[]){__VA_ARGS__}) / sizeof(uintptr_t))

/** Shows that stack. */
clpi_stack_walker clpt_walk;

/** One frame of an address. Frames of one address stand together, outermost first. */
typedef struct clpt_name {
  uintptr_t address;
  clpi_symbol symbol;
} clpt_name;

/** The names that clpt_symbols knows from now on, up to an address of 0, which must live on. NULL:
 * none. What is not among them is called f at this line of p.c: address 7 is p.c:7:f. */
void clpt_set_names(const clpt_name *names);

extern const clpi_symbols clpt_symbols;

/** How many sessions of clpt_symbols are open, and how many addresses it was ever asked for. */
extern atomic_size_t clpt_open_sessions, clpt_lookups;

/** A profile with clpt_walk and clpt_symbols. */
clp_line_profile *clpt_profile(unsigned max_depth);

/** What happens in a pool: a buffer of so many bytes (rounded) is asked for, and the device gives
 * some, or none. The buffer with that ID (0: none, the request fails) is in use from then on. */
void clpt_take_buffer(clp_line_profile *profile, size_t used, size_t acquired, uint64_t id);
void clpt_take(clp_line_profile *profile, size_t used, size_t acquired);

/** The buffer is released. */
void clpt_release(clp_line_profile *profile, uint64_t id);

/** The profile as clp_line_profile_print and clp_line_profile_write_folded write it, and a view as
 * their _view do. For free(). */
char *clpt_printed(clp_line_profile *profile);
char *clpt_folded(clp_line_profile *profile);
char *clpt_printed_view(clp_line_profile *profile, clp_line_profile_view view);
char *clpt_folded_view(clp_line_profile *profile, clp_line_profile_view view);

/** The same, compared with what it must be. */
void clpt_prints(clp_line_profile *profile, const char *expected);
void clpt_folds(clp_line_profile *profile, const char *expected);
void clpt_prints_view(clp_line_profile *profile, clp_line_profile_view view, const char *expected);
void clpt_folds_view(clp_line_profile *profile, clp_line_profile_view view, const char *expected);

#endif
