/* SPDX-License-Identifier: MIT */
/* The loaded object, program or shared library, that an address is in. */
#ifndef CLPOOL_HOOKS_OBJECT_H
#define CLPOOL_HOOKS_OBJECT_H

#include <stdint.h>

enum { CLPI_OBJECT_NAME_BYTES = 256 };

typedef struct clpi_object_place {
  uintptr_t offset; /* of the address in the object, as addr2line and objdump take it */
  char object[CLPI_OBJECT_NAME_BYTES]; /* the object's file name, without folders */
} clpi_object_place;

/* An address in no object, such as code generated at run time, is in "unknown", at itself as the
 * offset. */
void clpi_object_find(uintptr_t address, clpi_object_place *place);

#endif
