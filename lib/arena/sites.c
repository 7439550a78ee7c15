/* SPDX-License-Identifier: MIT */
/* Two hash tables of the same sites. */
#include "arena/sites.h"

#include <stdlib.h>

enum { FIRST_BITS = 6 };

static size_t bucket_of(const clpi_sites *sites, uint64_t key, size_t bytes)
{
  return (size_t)(((key ^ bytes << 7) * 0x9e3779b97f4a7c15u) >> (64 - sites->bits));
}

static void insert(clpi_sites *sites, clpi_site *site)
{
  clpi_site **at = &sites->by_position[bucket_of(sites, site->position, site->bytes)];
  site->next_by_position = *at;
  *at = site;
  at = &sites->by_memory[bucket_of(sites, site->memory, site->bytes)];
  site->next_by_memory = *at;
  *at = site;
}

/* Twice as many buckets. Without host memory for that, the chains become longer. */
static void grow(clpi_sites *sites)
{
  clpi_sites grown = *sites;
  grown.bits = sites->bits ? sites->bits + 1 : FIRST_BITS;
  size_t buckets = (size_t)1 << grown.bits, former = sites->bits ? buckets / 2 : 0;
  grown.by_position = calloc(2 * buckets, sizeof(*grown.by_position));
  if (!grown.by_position)
    return;
  grown.by_memory = grown.by_position + buckets;
  for (size_t i = 0; i < former; i++)
    for (clpi_site *site = sites->by_position[i], *next; site; site = next) {
      next = site->next_by_position;
      insert(&grown, site);
    }
  free(sites->by_position);
  *sites = grown;
}

bool clpi_sites_reserve(clpi_sites *sites, size_t spares)
{
  if (!sites->bits || 2 * sites->count >> sites->bits)
    grow(sites);
  while (sites->bits && sites->spare_count < spares) {
    clpi_site *site = malloc(sizeof(*site));
    if (!site)
      return false;
    clpi_site_end(sites, site);
  }
  return sites->bits;
}

void clpi_sites_end(clpi_sites *sites)
{
  for (clpi_site *site = sites->spares, *next; site; site = next) {
    next = site->next_spare;
    free(site);
  }
  for (size_t i = 0; sites->bits && i < (size_t)1 << sites->bits; i++)
    for (clpi_site *site = sites->by_position[i], *next; site; site = next) {
      next = site->next_by_position;
      free(site);
    }
  free(sites->by_position);
}

clpi_site *clpi_sites_take_spare(clpi_sites *sites)
{
  clpi_site *site = sites->spares;
  sites->spares = site->next_spare;
  sites->spare_count--;
  return site;
}

void clpi_site_begin(clpi_site *site, clpi_segment *segment, uint64_t position, size_t bytes)
{
  *site = (clpi_site){.segment = segment,
                      .position = position,
                      .bytes = bytes,
                      .digest = clpi_digest_of(position, bytes)};
}

void clpi_site_end(clpi_sites *sites, clpi_site *site)
{
  site->next_spare = sites->spares;
  sites->spares = site;
  sites->spare_count++;
}

void clpi_sites_add(clpi_sites *sites, clpi_site *site)
{
  insert(sites, site);
  sites->count++;
}

void clpi_sites_remove(clpi_sites *sites, clpi_site *site)
{
  clpi_site **at = &sites->by_position[bucket_of(sites, site->position, site->bytes)];
  while (*at != site)
    at = &(*at)->next_by_position;
  *at = site->next_by_position;
  at = &sites->by_memory[bucket_of(sites, site->memory, site->bytes)];
  while (*at != site)
    at = &(*at)->next_by_memory;
  *at = site->next_by_memory;
  sites->count--;
}

clpi_site *clpi_sites_at(const clpi_sites *sites, uint64_t position, size_t bytes)
{
  clpi_site *site = sites->bits ? sites->by_position[bucket_of(sites, position, bytes)] : NULL;
  while (site && (site->position != position || site->bytes != bytes))
    site = site->next_by_position;
  return site;
}

clpi_site *clpi_sites_of(const clpi_sites *sites, clp_memory memory, size_t bytes)
{
  clpi_site *site = sites->bits ? sites->by_memory[bucket_of(sites, memory, bytes)] : NULL;
  while (site && (site->memory != memory || site->bytes != bytes))
    site = site->next_by_memory;
  return site;
}
