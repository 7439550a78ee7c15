/* SPDX-License-Identifier: MIT */
#include "loads.h"

#include "chance.h"

#include <clpool/bin.h>
#include <clpool/buffer.h>

static size_t pick(size_t i, size_t bound)
{
  clpt_chance chance = clpt_chance_seed((unsigned)i + 1);

  clpt_chance_next(&chance);
  return clpt_chance_below(&chance, bound);
}

size_t clpt_load_by_chance(size_t i)
{
  return 1 + pick(i, 65536);
}

size_t clpt_load_powers_of_two(size_t i)
{
  return (size_t)256 << pick(i, 12);
}

size_t clpt_load_growing(size_t i)
{
  return 4096 + i / CLPT_LOAD_LIVE * 600;
}

size_t clpt_load_two_phases(size_t i)
{
  size_t base = i < 1500 ? 60000 : 300000;

  return base + pick(i, base / 2);
}

size_t clpt_load_huge(size_t i)
{
  size_t base = (size_t)1 << 52;

  return base + pick(i, base);
}

size_t clpt_load_a_few_block_sizes(size_t i)
{
  static const size_t sizes[] = {1000, 5000, 30000, 70000};

  return clp_bin_size(4, clp_bin_number(4, sizes[pick(i, 4)]));
}

bool clpt_load_run(clp_pool *pool, clpt_load load, size_t allocations)
{
  clp_buffer *buffers[CLPT_LOAD_LIVE] = {NULL};
  bool ok = true;

  for (size_t i = 0; i < allocations; i++) {
    clp_buffer **oldest = &buffers[i % CLPT_LOAD_LIVE];
    ok = clp_buffer_release(*oldest) == CLP_SUCCESS && ok;
    ok = clp_pool_allocate(pool, load(i), oldest) == CLP_SUCCESS && ok;
  }
  for (size_t i = 0; i < CLPT_LOAD_LIVE; i++)
    ok = clp_buffer_release(buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}
