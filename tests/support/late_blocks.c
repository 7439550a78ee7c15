/* SPDX-License-Identifier: MIT */
/* The memory of a device whose streams run late. */
#include "late_blocks.h"

#include <stdio.h>
#include <stdlib.h>

/* What parts of a block are multiples of, in bytes. */
enum { GRAIN = 256 };

/* A block ends when it was freed and no work uses it any more; where free_is_ordered is not set,
 * the first has to come after the second. So does a part of one, whose uses are its block's too.
 * Its content is a tag at the beginning of each grain. */
struct clpt_late_block {
  clpt_late_block *whole; /* NULL: it is no part */
  unsigned parts;         /* that were not united yet */
  clp_memory memory;
  unsigned char *content;
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

/* --- blocks --- */

static clpt_late_block *add_locked(clpt_late_device *device, void *content, size_t bytes)
{
  clpt_late_block *block = clpt_late_new(sizeof(*block));

  block->content = content;
  block->memory = device->opaque ? ++device->last_handle : (clp_memory)content;
  block->bytes = bytes;
  block->next = device->blocks;
  device->blocks = block;
  return block;
}

clp_status clpt_late_take_locked(clpt_late_device *device, size_t bytes, clp_memory *out)
{
  clpt_late_block *block;

  if (bytes == 0)
    clpt_late_wrong_locked(device, "zero bytes were asked for");
  if (device->capacity > 0 &&
      (device->live_bytes > device->capacity || bytes > device->capacity - device->live_bytes))
    return CLP_OUT_OF_DEVICE_MEMORY;
  block = add_locked(device, clpt_late_new(bytes + GRAIN), bytes);
  device->live_blocks++;
  device->live_bytes += bytes;
  *out = block->memory;
  return CLP_SUCCESS;
}

static clpt_late_block *find_locked(clpt_late_device *device, clp_memory memory)
{
  clpt_late_block *block = device->blocks;

  while (block != NULL && (block->memory != memory || block->leaving))
    block = block->next;
  if (block == NULL) {
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
  if (block->whole == NULL) {
    device->live_blocks--;
    device->live_bytes -= block->bytes;
    device->leaving_blocks--;
    device->leaving_bytes -= block->bytes;
    free(block->content);
  }
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
  if (block->parts > 0)
    clpt_late_wrong_locked(device, "memory freed of which there are parts");
  block->leaving = true;
  if (block->whole == NULL) {
    device->leaving_blocks++;
    device->leaving_bytes += bytes;
  }
  if (block->whole == NULL && device->on_free != NULL)
    device->on_free(device, memory);
  return block;
}

static bool is_part_over(const clpt_late_block *block, const unsigned char *content, size_t bytes)
{
  return block->whole != NULL && block->content < content + bytes &&
         content < block->content + block->bytes;
}

/* Whether streams still use another part of that memory. */
static bool is_part_used(const clpt_late_device *device, const unsigned char *content, size_t bytes)
{
  for (const clpt_late_block *block = device->blocks; block != NULL; block = block->next)
    if (block->uses > 0 && is_part_over(block, content, bytes))
      return true;
  return false;
}

/* Whether another part of that memory was not united yet. */
static bool is_part_live(const clpt_late_device *device, const unsigned char *content, size_t bytes)
{
  for (const clpt_late_block *block = device->blocks; block != NULL; block = block->next)
    if (!block->leaving && is_part_over(block, content, bytes))
      return true;
  return false;
}

clp_memory clpt_late_whole_locked(clpt_late_device *device, clp_memory memory)
{
  for (const clpt_late_block *block = device->blocks; block != NULL; block = block->next)
    if (block->whole == NULL && !block->leaving && memory - block->memory < block->bytes)
      return block->memory;
  return 0;
}

/* A part that begins where its block does is found before that. */
clp_memory clpt_late_split_locked(clpt_late_device *device, clp_memory memory, size_t offset,
                                  size_t bytes)
{
  clpt_late_block *whole = device->blocks, *part;

  while (whole != NULL && (whole->memory != memory || whole->whole != NULL))
    whole = whole->next;
  if (whole == NULL || whole->leaving || offset % GRAIN || bytes > whole->bytes ||
      offset > whole->bytes - bytes) {
    clpt_late_wrong_locked(device, "a part of what is no block, or not within one");
    return 0;
  }
  if (device->ops.exclusive_parts && is_part_used(device, whole->content + offset, bytes))
    clpt_late_wrong_locked(device, "a part over one that streams still use");
  if ((device->opaque || device->addresses) && is_part_live(device, whole->content + offset, bytes))
    clpt_late_wrong_locked(device, "a part over another one");
  part = add_locked(device, whole->content + offset, bytes);
  part->whole = whole;
  whole->parts++;
  return part->memory;
}

void clpt_late_unite_locked(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  clpt_late_block *part = leave_locked(device, memory, bytes);

  if (part == NULL)
    return;
  if (part->whole == NULL)
    clpt_late_wrong_locked(device, "a block united that is no part");
  else
    part->whole->parts--;
  if (part->uses == 0)
    remove_locked(device, part);
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

unsigned char *clpt_late_content(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  unsigned char *content = NULL;

  pthread_mutex_lock(&device->lock);
  for (const clpt_late_block *block = device->blocks; block != NULL && !content;
       block = block->next)
    if (block->memory == memory && !block->leaving && block->bytes >= bytes)
      content = block->content;
  pthread_mutex_unlock(&device->lock);
  return content;
}

void clpt_late_blocks_end(clpt_late_device *device)
{
  for (clpt_late_block *block = device->blocks, *next; block != NULL; block = next) {
    next = block->next;
    if (block->whole == NULL)
      free(block->content);
    free(block);
  }
  device->blocks = NULL;
}

/* --- work --- */

static void finish_use(const clpt_late_work *work)
{
  clpt_late_block *block = work->block, *whole = block->whole;

  if (--block->uses == 0 && block->leaving)
    remove_locked(work->device, block);
  if (whole != NULL && --whole->uses == 0 && whole->leaving)
    remove_locked(work->device, whole);
}

static uint64_t *tag_at(const clpt_late_block *block, size_t offset)
{
  return (uint64_t *)(void *)(block->content + offset);
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

  for (size_t i = 0; i < block->bytes; i += GRAIN) {
    if (*tag_at(block, i) > work->tag)
      mismatch_locked(work->device, "a write came after one that was given later");
    *tag_at(block, i) = work->tag;
  }
  finish_use(work);
}

static void run_read(clpt_late_work *work)
{
  clpt_late_device *device = work->device;
  const clpt_late_block *block = work->block;

  for (size_t i = 0; i < block->bytes; i += GRAIN)
    if (*tag_at(block, i) != work->tag)
      mismatch_locked(device, *tag_at(block, i) < work->tag ? "a read came before its write"
                                                            : "a read came after a later write");
  device->reads++;
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
  if (block->whole != NULL)
    block->whole->uses++;
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
