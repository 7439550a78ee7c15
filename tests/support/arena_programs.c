/* SPDX-License-Identifier: MIT */
/* Whatever the tape says, no two blocks overlap, and figures are as if there were none. */
#include "support/arena_programs.h"

#include "core/allocator/allocator.h"
#include "support/suite.h"

/* --- the device --- */

enum { APART = 32 };

static clp_status (*device_allocate)(void *self, size_t bytes, clp_memory *out);
static clp_status (*device_free)(void *self, clp_memory memory, size_t bytes);

static clp_status allocate_apart(void *self, size_t bytes, clp_memory *out)
{
  clp_status status = device_allocate(self, bytes, out);
  *out <<= status ? 0 : APART;
  return status;
}

clp_status clpt_free_apart(void *self, clp_memory memory, size_t bytes)
{
  return device_free(self, memory >> APART, bytes);
}

void clpt_apart_setup(void)
{
  clpt_arena_setup();
  device_allocate = clpt_arena_device.ops.allocate;
  device_free = clpt_arena_device.ops.free;
  clpt_arena_device.ops.allocate = allocate_apart;
  clpt_arena_device.ops.free = clpt_free_apart;
}

void clpt_apart_start(double slack)
{
  clp_arena_options options = clpt_arena_small();
  options.slack = slack;
  clpt_arena_start_with(&options);
}

/* --- the programs --- */

static bool overlap(const clpt_block *a, const clpt_block *b)
{
  return a->memory < b->memory + b->bytes && b->memory < a->memory + a->bytes;
}

static void look_at(clpt_program *it, const clpt_block *made)
{
  for (const clpt_block *other = it->blocks; other < it->blocks + CLPT_LIVE; other++)
    if (other != made && other->memory && overlap(made, other))
      it->wrong = "two blocks overlap";
}

static void toggle(clpt_program *it, clpt_block *at, size_t bytes)
{
  clp_memory memory = 0;
  if (at->memory) {
    if (clp_allocator_free(clpt_arena, at->memory, at->bytes))
      it->wrong = "a block was not taken back";
    at->memory = 0;
    return;
  }
  clp_status status = clp_allocator_allocate(clpt_arena, bytes, &memory);
  *at = (clpt_block){memory, bytes};
  if (status && (status != CLP_OUT_OF_HOST_MEMORY || memory))
    it->wrong = "an allocation failed";
  if (!status)
    look_at(it, at);
}

static size_t used_bytes(const clpt_program *it)
{
  size_t sum = 0;
  for (size_t i = 0; i < CLPT_LIVE; i++)
    sum += it->blocks[i].memory ? (it->blocks[i].bytes + 255) / 256 * 256 : 0;
  return sum;
}

/* What the arena knows is what is in use, at any time. */
static void do_mischief(clpt_program *it)
{
  switch (clpt_chance_below(&it->mischief, 3)) {
  case 0:
    (void)clpt_arena->ops.return_cached(clpt_arena->self);
    break;
  case 1:
    if (clpt_arena_figures().used_bytes != used_bytes(it))
      it->wrong = "the arena counts other blocks";
    break;
  default:
    toggle(it, &it->blocks[clpt_chance_below(&it->mischief, CLPT_LIVE)], 7000);
  }
}

void clpt_program_pass(clpt_program *it, unsigned seed)
{
  it->chance = clpt_chance_seed(seed);
  for (unsigned i = 0; i < CLPT_STEPS; i++) {
    clpt_block *at = &it->blocks[clpt_chance_below(&it->chance, CLPT_LIVE)];
    size_t bytes = 1 + (size_t)clpt_chance_below(&it->chance, 1u << (6 + i % 12));
    if (it->rarely && !clpt_chance_below(&it->mischief, it->rarely))
      do_mischief(it);
    toggle(it, at, bytes);
  }
  for (size_t i = 0; i < CLPT_LIVE; i++)
    if (it->blocks[i].memory)
      toggle(it, &it->blocks[i], 0);
}
