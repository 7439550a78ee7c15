/* SPDX-License-Identifier: MIT */
/* Which loaded object an address is in: the program, a shared library. */
#ifndef CLPOOL_HOOKS_OBJECT_H
#define CLPOOL_HOOKS_OBJECT_H

#include <stdint.h>

enum { CLPI_OBJECT_NAME_BYTES = 256 };

typedef struct clpi_object_place {
  uintptr_t offset; /* of the address, as addr2line and objdump count for that object */
  char object[CLPI_OBJECT_NAME_BYTES]; /* its file's name without folders */
} clpi_object_place;

/* What is in no object, such as code made at run time, is in "unknown", at its address. */
void clpi_object_find(uintptr_t address, clpi_object_place *place);

#endif
