/* SPDX-License-Identifier: MIT */
/* The pieces of memory that an asynchronous pool has handed out, by their pointers, and some of
 * those that it got back since: so that a second free can be told from a foreign pointer. */
#ifndef CLPOOL_CUDA_LIVE_POINTERS_H
#define CLPOOL_CUDA_LIVE_POINTERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_cuda_piece {
  unsigned long long pointer; /* 0: a free place */
  size_t bytes;               /* as asked for */
  int device;                 /* its ordinal */
  bool is_live;               /* false: it was given back */
} clpi_cuda_piece;

typedef struct clpi_cuda_live_pointers {
  clpi_cuda_piece *places; /* a hash table, by pointer */
  unsigned bits;           /* it has 1 << bits places; 0: none yet */
  size_t taken;            /* of them not free */
  size_t live;
  size_t promised; /* pieces that are about to be added */
} clpi_cuda_live_pointers;

/* All zero is empty. */
void clpi_cuda_live_pointers_end(clpi_cuda_live_pointers *table);

/* Promises room for a piece, which is then added, or the promise withdrawn. False: no host memory.
 */
bool clpi_cuda_live_pointers_promise(clpi_cuda_live_pointers *table);
void clpi_cuda_live_pointers_add(clpi_cuda_live_pointers *table, clpi_cuda_piece piece);
void clpi_cuda_live_pointers_withdraw(clpi_cuda_live_pointers *table);

/* The piece at a pointer, live or not; NULL: it is not known. Valid until the next promise. */
clpi_cuda_piece *clpi_cuda_live_pointers_find(const clpi_cuda_live_pointers *table,
                                              unsigned long long pointer);

/* A live piece is given back. Room for it stays promised, for the case that this fails. */
void clpi_cuda_live_pointers_take(clpi_cuda_live_pointers *table, clpi_cuda_piece *piece);

#endif
