/* SPDX-License-Identifier: MIT */
/* Sites: the places of blocks, found by their memory. Guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_SITES_H
#define CLPOOL_ARENA_SITES_H

#include "arena/segments.h"
#include "arena/tape.h"

typedef struct clpi_site {
  clpi_segment *segment;
  size_t offset;      /* in it */
  size_t bytes;       /* of its block, as asked for */
  clp_memory memory;  /* of its block; 0: it was not made yet */
  clpi_digest digest; /* where there is a tape */
  uint32_t begun;     /* the event where its block began (tape.h), if that is on the tape */
  bool is_used;       /* false: its block has ended, and the segments do not know it yet */
  bool is_ahead;      /* on the arena's list, by next_ahead (ahead.h) */
  clpi_range *block;  /* NULL: the segments do not know yet that there is one */
  struct clpi_site *next_ahead;
  struct clpi_site *next; /* in its bucket, or of the spares */
} clpi_site;

typedef struct clpi_sites {
  clpi_site **buckets; /* a hash table */
  unsigned bits;       /* there are 1 << bits of them; 0: none yet */
  size_t count;
  clpi_site *spares; /* by next */
  size_t spare_count;
} clpi_sites;

void clpi_sites_end(clpi_sites *sites);

/* Makes sure that there are so many spares, and room for one site more. False: no host memory. */
bool clpi_sites_reserve(clpi_sites *sites, size_t spares);

/* Takes a spare, which there is, or gives one back that is not in the table. */
clpi_site *clpi_sites_take_spare(clpi_sites *sites);
void clpi_site_end(clpi_sites *sites, clpi_site *site);

/* Makes a spare the site of a place, without memory so far. */
void clpi_site_begin(clpi_site *site, clpi_segment *segment, size_t offset, size_t bytes);

/* Adds a site that has memory, or removes it. */
void clpi_sites_add(clpi_sites *sites, clpi_site *site);
void clpi_sites_remove(clpi_sites *sites, clpi_site *site);

/* The digest of a site's block. */
clpi_digest clpi_site_digest(const clpi_site *site);

/* Gives all sites their digests, and returns that of those in use. */
clpi_digest clpi_sites_digest(clpi_sites *sites);

/* The site of a block of `bytes`; NULL: there is none. */
clpi_site *clpi_sites_of(const clpi_sites *sites, clp_memory memory, size_t bytes);

#endif
