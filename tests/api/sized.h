/* SPDX-License-Identifier: MIT */
/* Public structs that begin with their size, given by callers who are older or newer than the
 * library. */
#ifndef CLPT_API_SIZED_H
#define CLPT_API_SIZED_H

#include <clpool/status.h>
#include <stddef.h>

/** A struct that a call reads (options) or fills (results). */
typedef struct clpt_sized {
  const char *call;                /**< as failures show it */
  const char *name;                /**< of the struct, as messages show it */
  size_t bytes;                    /**< its sizeof */
  size_t least;                    /**< the smallest struct_size that the call takes */
  const void *valid;               /**< options: a struct that the call takes. NULL for results */
  clp_status (*make)(void *given); /**< makes the call, and ends what it made */
} clpt_sized;

/** Checks which sizes a call takes, what it does with bytes that it does not know, and that it
 * reads and writes nothing past the size that the caller states. */
void clpt_check_sized(const clpt_sized *sized);

#endif
