/* SPDX-License-Identifier: MIT */
/* Pieces follow each other in the block, each behind its size. Only the last one grows where it is;
 * what yajl has outgrown stays unused, since its buffers double: that is at most as much again. */
#include "trace/json_memory.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = alignof(max_align_t) };

/* Stands before each piece, and leaves it aligned. */
typedef union piece_header {
  size_t bytes;
  max_align_t alignment;
} piece_header;

bool clpi_json_memory_init(clpi_json_memory *memory, size_t bytes)
{
  *memory = (clpi_json_memory){.block = malloc(bytes), .bytes = bytes};
  return memory->block != NULL;
}

void clpi_json_memory_end(clpi_json_memory *memory)
{
  free(memory->block);
  memory->block = NULL;
}

void clpi_json_memory_reset(clpi_json_memory *memory)
{
  memory->used = memory->last = 0;
}

static piece_header *header_of(void *piece)
{
  return (piece_header *)piece - 1;
}

static void *take(void *self, size_t bytes)
{
  clpi_json_memory *memory = self;
  size_t needed = sizeof(piece_header) + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (needed > memory->bytes - memory->used)
    return NULL;
  piece_header *header = (piece_header *)(void *)(memory->block + memory->used);
  header->bytes = bytes;
  memory->last = memory->used;
  memory->used += needed;
  return header + 1;
}

static bool is_last(const clpi_json_memory *memory, void *piece)
{
  return (char *)header_of(piece) == memory->block + memory->last;
}

/* Only the last piece can be taken back. */
static void give_back(void *self, void *piece)
{
  clpi_json_memory *memory = self;
  if (piece && is_last(memory, piece))
    memory->used = memory->last;
}

static void *grow(void *self, void *piece, size_t bytes)
{
  if (!piece)
    return take(self, bytes);
  size_t before = header_of(piece)->bytes;
  give_back(self, piece);
  void *grown = take(self, bytes);
  if (grown && grown != piece)
    memcpy(grown, piece, before < bytes ? before : bytes);
  return grown;
}

yajl_alloc_funcs clpi_json_memory_functions(clpi_json_memory *memory)
{
  return (yajl_alloc_funcs){.malloc = take, .realloc = grow, .free = give_back, .ctx = memory};
}
