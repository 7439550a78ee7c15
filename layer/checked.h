/* SPDX-License-Identifier: MIT */
/* The program's memory, as the layer that checks knows it. A buffer has a zone behind it, filled
 * with a byte that shows writes past the end. What the program has released is held back for a
 * while (quarantine), filled with a byte that shows later writes. Any thread. */
#ifndef CLPOOL_LAYER_CHECKED_H
#define CLPOOL_LAYER_CHECKED_H

#include "check_context.h"
#include "findings.h"
#include "mem.h"

/* What the environment asks of the layer. */
typedef struct clpi_check_settings {
  unsigned every;          /* CLPOOL_LAYER_EVERY; 0: zones are compared at releases alone */
  unsigned fill;           /* CLPOOL_LAYER_FILL: the byte that fresh memory contains */
  size_t guard_bytes;      /* CLPOOL_LAYER_GUARD: of a zone */
  size_t quarantine_bytes; /* CLPOOL_LAYER_QUARANTINE */
} clpi_check_settings;

extern clpi_check_settings clpi_checks;

enum { CLPI_ZONE_BYTE = 0xA5 };

/* The name of the latest kernel. Names stay valid. */
extern _Atomic(const char *) clpi_check_latest_kernel;

typedef struct clpi_checked {
  clpi_mem mem; /* first. The handle of shared virtual memory is its pointer */
  clpi_check_context *context;
  const char *what;             /* "a buffer" and so on */
  uint32_t allocated, released; /* stacks */
  bool is_svm;
  atomic_bool was_written; /* by the program, as far as can be seen */
  bool was_compared;       /* when it was released, and all work was done */
  bool is_filled;          /* with the byte of the quarantine */
  bool is_told;            /* as leaked */
  atomic_size_t map_count;
  /* The latest kernel that had it since its zone was compared; NULL: none. */
  _Atomic(const char *) kernel;
  atomic_uint_fast64_t kernel_number;
  atomic_bool had_several_kernels;
  atomic_size_t enqueues; /* of all kernels that had it */
  atomic_size_t holders;  /* of this struct: what is known, parts, and arguments of kernels */
  clpi_list link;
} clpi_checked;

static inline clpi_checked *clpi_checked_find(cl_mem handle)
{
  return (clpi_checked *)clpi_mem_find(handle);
}

/* Shared virtual memory at a pointer; NULL: none is known. Tells if so many bytes end behind it. */
clpi_checked *clpi_checked_at(const void *pointer, size_t bytes);

/* What it is part of, or itself. */
static inline clpi_checked *clpi_checked_root(clpi_checked *it)
{
  while (it->mem.whole)
    it = (clpi_checked *)it->mem.whole;
  return it;
}

/* The bytes of its zone. */
static inline size_t clpi_checked_zone(const clpi_checked *it)
{
  return it->mem.block_bytes - it->mem.bytes;
}

/* Adds what the driver made, as the draft has it, with the caller's stack. Parts of other memory
 * are known to clpi_mem_find already. */
void clpi_checked_add(const clpi_checked *draft);

/* Drops a holder. */
void clpi_checked_let_go(clpi_checked *it);

/* Compares the zone when all work is done, and sets it again. */
void clpi_checked_compare(clpi_checked *it, uint32_t here);

/* Drops a reference of the program's, of which there are some. The driver has all but one of those
 * to a part, and a part has one to its whole. */
cl_int clpi_checked_drop(clpi_checked *it);

/* Gives back to the driver what has been held longest, while there is more than this. */
void clpi_checked_evict(size_t bytes);

/* Behind what is queued now, it is freed, or the program's function may keep it. */
void clpi_checked_forget(clpi_checked *it, bool is_freed);

/* Compares all there is, before the process ends. */
void clpi_checked_finish(void);

/* Tells what was not released. Calls no driver. */
void clpi_checked_find_leaks(void);

#endif
