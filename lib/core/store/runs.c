/* SPDX-License-Identifier: MIT */
/* Runs are circles of blocks, and their oldest blocks are in a circle, too: all links are in the
 * buffers, and nothing is allocated. */
#include "core/store/runs.h"

#include "core/store/buffer_uses.h"

/* --- what a run is --- */

/* Whether the blocks' uses are on the same streams. A use that was found done and forgotten, of
 * epoch 0, is not among those of the home stream that bears it: it may be of any age. */
static bool is_same_run(clp_buffer *block, clp_buffer *other)
{
  clpi_uses of_block = clpi_uses_of(block), of_other = clpi_uses_of(other);
  for (size_t i = 0; i < of_block.count && i < of_other.count; i++) {
    const clpi_use *use = &of_block.uses[i], *other_use = &of_other.uses[i];
    if (use->stream != other_use->stream || !use->epoch != !other_use->epoch)
      return false;
  }
  return of_block.count == of_other.count;
}

/* Of two blocks of a run. The uses decide: a thread may have noted its use before, and have got its
 * age after another one. Uses on several streams are all brought up to the release, so that
 * the first that differs decides for all. */
static bool is_older(clp_buffer *block, clp_buffer *other)
{
  clpi_uses of_block = clpi_uses_of(block), of_other = clpi_uses_of(other);
  for (size_t i = 0; i < of_block.count; i++)
    if (of_block.uses[i].epoch != of_other.uses[i].epoch)
      return of_block.uses[i].epoch < of_other.uses[i].epoch;
  return block->age < other->age;
}

static bool is_oldest(const clp_buffer *block)
{
  return block->run.next;
}

/* --- the circle of the runs --- */

static void add_run(clpi_bin *bin, clp_buffer *block)
{
  clp_buffer *after = bin->runs ? bin->runs : block;
  block->run = (clpi_run_links){block, block, bin->runs ? after->run.next : block};
  after->run.next = block;
  bin->runs = block;
}

/* Another block of the run is its oldest from now on; NULL: the run had only this one. */
static void replace_oldest(clpi_bin *bin, clp_buffer *oldest, clp_buffer *by)
{
  clp_buffer *before = oldest;
  while (before->run.next != oldest)
    before = before->run.next;
  if (by) {
    before->run.next = by;
    by->run.next = oldest->run.next;
  } else {
    before->run.next = oldest->run.next;
  }
  bin->runs = by ? by : before != oldest ? before : NULL;
  oldest->run.next = NULL;
}

/* --- a run --- */

/* Inserts a block, searching in both directions from `near`, a block of its run. */
static void insert(clpi_bin *bin, clp_buffer *block, clp_buffer *near)
{
  clp_buffer *older = near;
  while (!is_oldest(older) && is_older(block, older))
    older = older->run.older;
  bool comes_first = is_older(block, older);
  while (!comes_first && !is_oldest(older->run.newer) && !is_older(block, older->run.newer))
    older = older->run.newer;
  if (comes_first)
    older = older->run.older;
  clp_buffer *newer = older->run.newer;
  block->run = (clpi_run_links){newer, older, NULL};
  newer->run.older = older->run.newer = block;
  if (comes_first)
    replace_oldest(bin, newer, block);
}

/* A block of the same run among the next older ones of the list: mostly there is one, close by. */
static clp_buffer *find_near(clp_buffer *block)
{
  enum { MOST_LOOKS = 4 };
  clp_buffer *near = block->older;
  for (unsigned looks = 0; near && looks < MOST_LOOKS; looks++, near = near->older)
    if (is_same_run(block, near))
      return near;
  return NULL;
}

/* The end of the block's run that is nearer to its place; NULL: there is no such run. The next
 * search begins there: runs are in the order in which they began, and streams often take turns. */
static clp_buffer *find_end(clpi_bin *bin, clp_buffer *block)
{
  clpi_each_run (bin, oldest)
    if (is_same_run(block, oldest)) {
      bin->runs = oldest;
      return is_older(block, oldest) ? oldest : clpi_run_newest(oldest);
    }
  return NULL;
}

/* --- the interface --- */

void clpi_runs_link(clpi_bin *bin, clp_buffer *block)
{
  clp_buffer *near = find_near(block);
  if (!near)
    near = find_end(bin, block);
  if (near)
    insert(bin, block, near);
  else
    add_run(bin, block);
}

void clpi_runs_unlink(clpi_bin *bin, clp_buffer *block)
{
  clp_buffer *newer = block->run.newer, *older = block->run.older;
  if (is_oldest(block))
    replace_oldest(bin, block, newer != block ? newer : NULL);
  newer->run.older = older;
  older->run.newer = newer;
  block->run.newer = NULL;
}

void clpi_runs_remake(clpi_bin *bin)
{
  bin->runs = NULL;
  for (clp_buffer *block = bin->oldest; block; block = block->newer)
    clpi_runs_link(bin, block);
}
