/* SPDX-License-Identifier: MIT */
/* Uses of a block: a single one is stored in its buffer, several in an array of their own. */
#include "core/store/buffer.h"

#include "core/base/error.h"

#include <stdlib.h>

clpi_uses clpi_uses_of(clp_buffer *block)
{
  clpi_buffer_state state = clpi_state_of(block);
  bool is_kept = state == CLPI_BUFFER_HELD || state == CLPI_BUFFER_LEAVING;
  if (is_kept && block->use.stream)
    return (clpi_uses){&block->use, 1};
  if (state == CLPI_BUFFER_SPARE || !block->noted)
    return (clpi_uses){0};
  return (clpi_uses){block->noted->uses, block->noted->count};
}

bool clpi_buffer_settle(clp_buffer *block, clpi_streams *streams, clpi_stream *stream,
                        unsigned ways)
{
  clpi_uses all = clpi_uses_of(block);
  bool settled = true;
  for (size_t i = 0; i < all.count && (settled || ways == CLPI_POLL); i++)
    settled = clpi_use_settle(streams, &all.uses[i], stream, ways) && settled;
  return settled;
}

/* Adds a use of the stream, or updates it. The caller has made room. */
static void add_use(clpi_noted_uses *noted, clpi_stream *stream)
{
  size_t i = 0;
  while (i < noted->count && noted->uses[i].stream != stream)
    i++;
  noted->uses[i] = clpi_use_now(stream);
  noted->count += i == noted->count;
}

/* Makes room for two more: this use, and the release. */
static bool make_room(clp_buffer *buffer)
{
  clpi_noted_uses *noted = buffer->noted;
  if (noted && noted->count + 2 <= noted->capacity)
    return true;
  size_t count = noted ? noted->count : 0;
  size_t capacity = 2 * count + 4;
  clpi_noted_uses *grown = realloc(noted, sizeof(*grown) + capacity * sizeof(grown->uses[0]));
  if (!grown)
    return false;
  grown->count = count;
  grown->capacity = capacity;
  buffer->noted = grown;
  return true;
}

clp_status clpi_buffer_note_use_locked(clp_buffer *buffer, clpi_stream *stream)
{
  if (!make_room(buffer))
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to note a stream");
  add_use(buffer->noted, stream);
  clpi_set_state(buffer, CLPI_BUFFER_SHARED);
  return CLP_SUCCESS;
}

void clpi_buffer_note_release_locked(clp_buffer *buffer, clpi_stream *stream)
{
  clpi_noted_uses *noted = buffer->noted;
  buffer->use = clpi_use_now(stream);
  if (!noted || !noted->count)
    return;
  for (size_t i = 0; i < noted->count; i++)
    noted->uses[i] = clpi_use_now(noted->uses[i].stream);
  add_use(noted, stream);
  if (noted->count == 1)
    noted->count = 0;
  else
    buffer->use.stream = NULL;
}
