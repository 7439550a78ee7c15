/* SPDX-License-Identifier: MIT */
/* Kinds of memory objects: objects of one kind may use each other's memory. Buffers of a kind have
 * the same flags and rounded size, images the same flags, format and extent.
 *
 * A context has one pool for all kinds. The pool gets the number of a kind in place of a size. All
 * numbers have CLPI_KIND_BITS + 1 bits. So each is a bin of its own, all bins are near each other,
 * and no block counts for more than twice another. */
#ifndef CLPOOL_LAYER_KIND_H
#define CLPOOL_LAYER_KIND_H

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdint.h>

/* Keys are compared byte by byte: no padding, and members that do not matter are zero. */
typedef struct clpi_kind_key {
  uint64_t type; /* CL_MEM_OBJECT_BUFFER, or an image's type */
  cl_mem_flags flags;
  cl_image_format format;
  uint64_t width, height, depth, layers; /* a buffer's bytes are its width */
} clpi_kind_key;

typedef struct clpi_kind {
  clpi_kind_key key;
  atomic_size_t bytes; /* of one object in the device; 0: not known before the first image */
  uint16_t number;     /* from CLPI_KINDS on */
} clpi_kind;

enum { CLPI_KIND_BITS = 13, CLPI_KINDS = 1 << CLPI_KIND_BITS, CLPI_KIND_SLOTS = 2 * CLPI_KINDS };

/* The kinds of a context; none: zeros. A hash table with open addressing, which only grows: no call
 * takes a lock. */
typedef struct clpi_kinds {
  _Atomic uint16_t slots[CLPI_KIND_SLOTS]; /* numbers; 0: free, as half of them are */
  _Atomic(clpi_kind *) kinds[CLPI_KINDS];
  atomic_size_t count; /* with those for which there was no room */
} clpi_kinds;

/* Finds or adds the kind with this key. NULL: it would be new, and there are too many or no host
 * memory. Any thread. */
const clpi_kind *clpi_kind_get(clpi_kinds *kinds, const clpi_kind_key *key);

/* Returns the kind with this number, which must exist. */
clpi_kind *clpi_kind_at(const clpi_kinds *kinds, size_t number);

void clpi_kinds_end(clpi_kinds *kinds);

#endif
