/* SPDX-License-Identifier: MIT */
/* Finds the loaded object of an address: the program or a shared library. */
#ifndef CLPOOL_HOOKS_OBJECT_H
#define CLPOOL_HOOKS_OBJECT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_object_range {
  uintptr_t begin, bytes; /* 0 bytes: no object */
} clpi_object_range;

typedef struct clpi_object_place {
  uintptr_t offset; /* of the address in the object, in the form of addr2line and objdump */
  clpi_object_range range;
  char path[PATH_MAX]; /* from the dynamic linker; may be relative */
} clpi_object_place;

/* Finds the object of an address. If there is none, as for code generated at run time, the path is
 * "unknown", and the offset is the address. */
void clpi_object_find(uintptr_t address, clpi_object_place *place);

/* Returns the name of the object's file, without directories. */
const char *clpi_object_name(const clpi_object_place *place);

clpi_object_range clpi_object_range_of(uintptr_t address);

static inline bool clpi_object_range_has(clpi_object_range range, uintptr_t address)
{
  return address - range.begin < range.bytes;
}

#endif
