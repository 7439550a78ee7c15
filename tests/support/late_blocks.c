/* SPDX-License-Identifier: MIT */
/* The memory of a device whose streams run late. */
#include "late_blocks.h"

#include <stdio.h>
#include <stdlib.h>

/* A block ends when it was freed and no work uses it any more; where free_is_ordered is not set,
 * the first has to come after the second. Its first bytes are its content, a tag. */
struct clpt_late_block {
  uint64_t *content;
  uint64_t given; /* the tag of the last write that a stream was given */
  size_t bytes;
  unsigned uses; /* by work that is not done */
  bool leaving;  /* freed */
  clpt_late_block *next;
};

void clpt_late_wrong_locked(clpt_late_device *device, const char *what)
{
  if (device->wrong[0] == '\0')
    (void)snprintf(device->wrong, sizeof(device->wrong), "%s", what);
}

/* --- blocks -------------------------------------------------------------------------------------
 */

clp_status clpt_late_take_locked(clpt_late_device *device, size_t bytes, clp_memory *out)
{
  clpt_late_block *block;

  if (bytes == 0)
    clpt_late_wrong_locked(device, "zero bytes were asked for");
  if (device->capacity > 0 &&
      (device->live_bytes > device->capacity || bytes > device->capacity - device->live_bytes))
    return CLP_OUT_OF_DEVICE_MEMORY;
  block = clpt_late_new(sizeof(*block));
  block->content = clpt_late_new(bytes < sizeof(uint64_t) ? sizeof(uint64_t) : bytes);
  block->bytes = bytes;
  block->next = device->blocks;
  device->blocks = block;
  device->live_blocks++;
  device->live_bytes += bytes;
  *out = (clp_memory)block->content;
  return CLP_SUCCESS;
}

static clpt_late_block *find_locked(clpt_late_device *device, clp_memory memory)
{
  clpt_late_block *block = device->blocks;

  while (block != NULL && (clp_memory)block->content != memory)
    block = block->next;
  if (block == NULL || block->leaving) {
    clpt_late_wrong_locked(device, "memory that is none, or was freed");
    return NULL;
  }
  return block;
}

static void remove_locked(clpt_late_device *device, clpt_late_block *block)
{
  clpt_late_block **link = &device->blocks;

  while (*link != block)
    link = &(*link)->next;
  *link = block->next;
  device->live_blocks--;
  device->live_bytes -= block->bytes;
  device->leaving_blocks--;
  free(block->content);
  free(block);
}

/* Marks the block as freed; NULL: it cannot be. */
static clpt_late_block *leave_locked(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  clpt_late_block *block = find_locked(device, memory);

  if (block == NULL)
    return NULL;
  if (block->bytes != bytes)
    clpt_late_wrong_locked(device, "memory freed with another size");
  block->leaving = true;
  device->leaving_blocks++;
  return block;
}

void clpt_late_give_back_locked(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  clpt_late_block *block = leave_locked(device, memory, bytes);

  if (block == NULL)
    return;
  if (block->uses == 0) {
    remove_locked(device, block);
    return;
  }
  if (!device->ops.free_is_ordered)
    clpt_late_wrong_locked(device, "memory freed while work was to use it");
}

void clpt_late_blocks_end(clpt_late_device *device)
{
  for (clpt_late_block *block = device->blocks, *next; block != NULL; block = next) {
    next = block->next;
    free(block->content);
    free(block);
  }
  device->blocks = NULL;
}

/* --- work ---------------------------------------------------------------------------------------
 */

static void finish_use(const clpt_late_work *work)
{
  clpt_late_block *block = work->block;

  if (--block->uses == 0 && block->leaving)
    remove_locked(work->device, block);
}

static void mismatch_locked(clpt_late_device *device, const char *what)
{
  device->mismatches++;
  clpt_late_wrong_locked(device, what);
}

/* Tags grow in the order in which writes were given, and so must they in each block. */
static void run_write(clpt_late_work *work)
{
  clpt_late_block *block = work->block;

  if (*block->content > work->tag)
    mismatch_locked(work->device, "a write came after one that was given later");
  *block->content = work->tag;
  finish_use(work);
}

static void run_read(clpt_late_work *work)
{
  clpt_late_device *device = work->device;
  const clpt_late_block *block = work->block;

  if (*block->content == work->tag)
    device->reads++;
  else
    mismatch_locked(device, *block->content < work->tag ? "a read came before its write"
                                                        : "a read came after a later write");
  finish_use(work);
}

static void run_free(clpt_late_work *work)
{
  const clpt_late_block *block = work->block;

  if (block->uses > 1)
    clpt_late_wrong_locked(work->device, "memory freed on a stream while another was to use it");
  finish_use(work);
}

static void give_locked(clpt_late_device *device, clpt_late_stream *stream, clpt_late_block *block,
                        void (*run)(clpt_late_work *), uint64_t tag)
{
  block->uses++;
  clpt_late_give(stream,
                 &(clpt_late_work){.run = run, .device = device, .block = block, .tag = tag});
}

void clpt_late_give_back_on_locked(clpt_late_device *device, clp_memory memory, size_t bytes,
                                   clpt_late_stream *stream)
{
  clpt_late_block *block = leave_locked(device, memory, bytes);

  if (block != NULL)
    give_locked(device, stream, block, run_free, 0);
}

void clpt_late_write_locked(clpt_late_device *device, clpt_late_stream *stream, clp_memory memory)
{
  clpt_late_block *block = find_locked(device, memory);

  if (block == NULL)
    return;
  block->given = ++device->last_tag;
  give_locked(device, stream, block, run_write, block->given);
}

void clpt_late_read_locked(clpt_late_device *device, clpt_late_stream *stream, clp_memory memory)
{
  clpt_late_block *block = find_locked(device, memory);

  if (block != NULL)
    give_locked(device, stream, block, run_read, block->given);
}
