/* SPDX-License-Identifier: MIT */
/* Adding and taking blocks that are not on top of their lane. */
#include "core/store/store.h"

/* Whether the blocks' uses are on the same streams. A use with epoch 0 was done and forgotten. It
 * names the home stream, but is not among that stream's uses: it may be of any age. */
static bool is_same_lane(clp_buffer *block, clp_buffer *other)
{
  clpi_uses of_block = clpi_uses_of(block), of_other = clpi_uses_of(other);
  for (size_t i = 0; i < of_block.count && i < of_other.count; i++) {
    const clpi_use *use = &of_block.uses[i], *other_use = &of_other.uses[i];
    if (use->stream != other_use->stream || !use->epoch != !other_use->epoch)
      return false;
  }
  return of_block.count == of_other.count;
}

static clp_buffer *find_lane(const clpi_slot *slot, clp_buffer *block)
{
  clp_buffer *newest = slot->others;
  while (newest && !is_same_lane(newest, block))
    newest = newest->lane.next;
  return newest;
}

/* The oldest block of a lane from now on. */
static void set_oldest(clpi_slot *slot, clp_buffer *newest, clp_buffer *by)
{
  by->older = NULL;
  *(newest == slot->newest ? &slot->oldest : &newest->lane.oldest) = by;
}

void clpi_lane_insert(clpi_slot *slot, clp_buffer *block, const clpi_stream *home)
{
  clpi_set_state(block, CLPI_BUFFER_HELD);
  bool is_home = block->use.stream == home && block->use.epoch;
  clp_buffer *newest = is_home ? slot->newest : find_lane(slot, block);
  if (!newest || block->age > newest->age) {
    clpi_lane_push(slot, newest, block, is_home);
    return;
  }
  block->newer = clpi_lane_oldest(slot, newest);
  block->newer->older = block;
  set_oldest(slot, newest, block);
  clpi_slot_count_held(slot, 1);
}

void clpi_lane_remove(clpi_slot *slot, clp_buffer *newest, clp_buffer *block)
{
  if (block == newest) {
    clpi_lane_pop(slot, newest);
    return;
  }
  set_oldest(slot, newest, block->newer);
  clpi_slot_count_held(slot, -1u);
}

void clpi_lane_move(clpi_slot *from, clp_buffer *newest, clpi_slot *to, uint32_t most)
{
  clp_buffer *oldest = clpi_lane_oldest(from, newest), *last = oldest;
  uint32_t count = 1;
  for (; count < most && last != newest; count++)
    last = last->newer;
  bool is_home = newest == from->newest;
  if (last == newest)
    clpi_lane_set_newest(from, newest, NULL);
  else
    set_oldest(from, newest, last->newer);
  if (is_home) {
    to->newest = last;
    to->oldest = oldest;
  } else {
    clpi_lane_add(to, last, oldest);
  }
  clpi_slot_count_held(from, -count);
  clpi_slot_count_held(to, count);
}
