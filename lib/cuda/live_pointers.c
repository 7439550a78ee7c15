/* SPDX-License-Identifier: MIT */
/* A hash table with linear probing. What was given back keeps its place until the table is full:
 * then a new one is made without it. */
#include "cuda/live_pointers.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BITS = 8 };

static size_t place_count(const clpi_cuda_live_pointers *table)
{
  return (size_t)1 << table->bits;
}

/* Where a pointer is, or else would be put. There is a free place. Multiplying by 2^64 over the
 * golden ratio spreads pointers, which share their low bits, over the high ones. */
static clpi_cuda_piece *place_of(const clpi_cuda_live_pointers *table, unsigned long long pointer)
{
  size_t last = place_count(table) - 1;
  size_t i = (size_t)((pointer * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - table->bits));
  while (table->places[i].pointer && table->places[i].pointer != pointer)
    i = (i + 1) & last;
  return &table->places[i];
}

void clpi_cuda_live_pointers_end(clpi_cuda_live_pointers *table)
{
  free(table->places);
  *table = (clpi_cuda_live_pointers){0};
}

/* A new table has places for twice what is sure to come into it, so that it is made seldom. */
static bool renew(clpi_cuda_live_pointers *table)
{
  clpi_cuda_live_pointers renewed = {.bits = FIRST_BITS, .promised = table->promised};
  while (place_count(&renewed) / 4 <= table->live + table->promised)
    renewed.bits++;
  renewed.places = calloc(place_count(&renewed), sizeof(*renewed.places));
  if (!renewed.places)
    return false;
  for (size_t i = 0; table->bits && i < place_count(table); i++)
    if (table->places[i].is_live) {
      *place_of(&renewed, table->places[i].pointer) = table->places[i];
      renewed.live++;
    }
  renewed.taken = renewed.live;
  free(table->places);
  *table = renewed;
  return true;
}

bool clpi_cuda_live_pointers_promise(clpi_cuda_live_pointers *table)
{
  /* Half of the places stay free, so that searches are short. */
  bool is_full = !table->bits || table->taken + table->promised >= place_count(table) / 2;
  if (is_full && !renew(table))
    return false;
  table->promised++;
  return true;
}

void clpi_cuda_live_pointers_add(clpi_cuda_live_pointers *table, clpi_cuda_piece piece)
{
  clpi_cuda_piece *place = place_of(table, piece.pointer);
  table->promised--;
  table->taken += place->pointer == 0;
  table->live++;
  *place = piece;
  place->is_live = true;
}

void clpi_cuda_live_pointers_withdraw(clpi_cuda_live_pointers *table)
{
  table->promised--;
}

clpi_cuda_piece *clpi_cuda_live_pointers_find(const clpi_cuda_live_pointers *table,
                                              unsigned long long pointer)
{
  clpi_cuda_piece *place = table->bits ? place_of(table, pointer) : NULL;
  return place && place->pointer ? place : NULL;
}

void clpi_cuda_live_pointers_take(clpi_cuda_live_pointers *table, clpi_cuda_piece *piece)
{
  piece->is_live = false;
  table->live--;
  table->promised++;
}
