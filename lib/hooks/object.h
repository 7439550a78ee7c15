/* SPDX-License-Identifier: MIT */
/* The loaded object, program or shared library, that an address is in. */
#ifndef CLPOOL_HOOKS_OBJECT_H
#define CLPOOL_HOOKS_OBJECT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_object_range {
  uintptr_t begin, bytes; /* 0 bytes: of no object */
} clpi_object_range;

typedef struct clpi_object_place {
  uintptr_t offset; /* of the address in the object, as addr2line and objdump take it */
  clpi_object_range range;
  char path[PATH_MAX]; /* as the dynamic linker has it, which may be relative */
} clpi_object_place;

/* An address in no object, such as code generated at run time, is in "unknown", at itself as the
 * offset. */
void clpi_object_find(uintptr_t address, clpi_object_place *place);

/* The name of its file, without directories. */
const char *clpi_object_name(const clpi_object_place *place);

clpi_object_range clpi_object_range_of(uintptr_t address);

static inline bool clpi_object_range_has(clpi_object_range range, uintptr_t address)
{
  return address - range.begin < range.bytes;
}

#endif
