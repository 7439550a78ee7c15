/* SPDX-License-Identifier: MIT */
/* A hash table. */
#include "arena/sites.h"

#include <stdlib.h>

enum { FIRST_BITS = 6 };

static clpi_site **bucket_of(const clpi_sites *sites, clp_memory memory, size_t bytes)
{
  uint64_t key = (memory ^ bytes << 7) * 0x9e3779b97f4a7c15u;
  return &sites->buckets[key >> (64 - sites->bits)];
}

static void insert(clpi_sites *sites, clpi_site *site)
{
  clpi_site **bucket = bucket_of(sites, site->memory, site->bytes);
  site->next = *bucket;
  *bucket = site;
}

/* Twice as many buckets. Without host memory for that, the chains become longer. */
static void grow(clpi_sites *sites)
{
  clpi_sites grown = *sites;
  size_t former = sites->bits ? (size_t)1 << sites->bits : 0;
  grown.bits = sites->bits ? sites->bits + 1 : FIRST_BITS;
  grown.buckets = calloc((size_t)1 << grown.bits, sizeof(*grown.buckets));
  if (!grown.buckets)
    return;
  for (size_t i = 0; i < former; i++)
    for (clpi_site *site = sites->buckets[i], *next; site; site = next) {
      next = site->next;
      insert(&grown, site);
    }
  free(sites->buckets);
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

static void free_all(clpi_site *first)
{
  for (clpi_site *site = first, *next; site; site = next) {
    next = site->next;
    free(site);
  }
}

void clpi_sites_end(clpi_sites *sites)
{
  free_all(sites->spares);
  for (size_t i = 0; sites->bits && i < (size_t)1 << sites->bits; i++)
    free_all(sites->buckets[i]);
  free(sites->buckets);
}

clpi_site *clpi_sites_take_spare(clpi_sites *sites)
{
  clpi_site *site = sites->spares;
  sites->spares = site->next;
  sites->spare_count--;
  return site;
}

void clpi_site_begin(clpi_site *site, clpi_segment *segment, size_t offset, size_t bytes)
{
  *site = (clpi_site){.segment = segment, .offset = offset, .bytes = bytes, .begun = CLPI_NO_EVENT};
}

void clpi_site_end(clpi_sites *sites, clpi_site *site)
{
  site->next = sites->spares;
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
  clpi_site **at = bucket_of(sites, site->memory, site->bytes);
  while (*at != site)
    at = &(*at)->next;
  *at = site->next;
  sites->count--;
}

clpi_digest clpi_site_digest(const clpi_site *site)
{
  return clpi_digest_of(site->segment->origin + site->offset, site->bytes);
}

clpi_digest clpi_sites_digest(clpi_sites *sites)
{
  clpi_digest used = {0, 0};
  for (size_t i = 0; sites->bits && i < (size_t)1 << sites->bits; i++)
    for (clpi_site *site = sites->buckets[i]; site; site = site->next) {
      site->digest = clpi_site_digest(site);
      used = clpi_digest_xor(used, site->digest);
    }
  return used;
}

clpi_site *clpi_sites_of(const clpi_sites *sites, clp_memory memory, size_t bytes)
{
  clpi_site *site = sites->bits ? *bucket_of(sites, memory, bytes) : NULL;
  while (site && (site->memory != memory || site->bytes != bytes))
    site = site->next;
  return site;
}
