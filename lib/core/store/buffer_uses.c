/* SPDX-License-Identifier: MIT */
/* Uses of a block: a single one is stored in its buffer, several in an array of their own. */
#include "core/store/buffer_uses.h"

#include "core/base/error.h"

#include <stdlib.h>

clpi_uses clpi_uses_of(clp_buffer *block)
{
  clpi_buffer_state state = clpi_state_of(block);
  bool is_kept = state == CLPI_BUFFER_HELD || state == CLPI_BUFFER_LEAVING;
  if (is_kept && block->use.stream)
    return (clpi_uses){&block->use, 1};
  if (state == CLPI_BUFFER_SPARE || !block->several)
    return (clpi_uses){0};
  return (clpi_uses){block->several->uses, block->several->count};
}

/* Adds a use of the stream, or updates it. The caller has made room. */
static void add_use(clpi_several *several, clpi_stream *stream)
{
  size_t i = 0;
  while (i < several->count && several->uses[i].stream != stream)
    i++;
  several->uses[i] = clpi_use_now(stream);
  several->count += i == several->count;
}

/* Makes room for two more: this use, and the release. */
static bool make_room(clp_buffer *buffer)
{
  clpi_several *several = buffer->several;
  if (several && several->count + 2 <= several->capacity)
    return true;
  size_t count = several ? several->count : 0;
  size_t capacity = 2 * count + 4;
  clpi_several *grown = realloc(several, sizeof(*grown) + capacity * sizeof(grown->uses[0]));
  if (!grown)
    return false;
  grown->count = count;
  grown->capacity = capacity;
  buffer->several = grown;
  return true;
}

clp_status clpi_buffer_note_use_locked(clp_buffer *buffer, clpi_stream *stream)
{
  if (!make_room(buffer))
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to note a stream");
  add_use(buffer->several, stream);
  clpi_set_state(buffer, CLPI_BUFFER_SHARED);
  return CLP_SUCCESS;
}

void clpi_buffer_note_release_locked(clp_buffer *buffer, clpi_stream *stream)
{
  clpi_several *several = buffer->several;
  buffer->use = clpi_use_now(stream);
  if (!several || !several->count)
    return;
  for (size_t i = 0; i < several->count; i++)
    several->uses[i] = clpi_use_now(several->uses[i].stream);
  add_use(several, stream);
  if (several->count == 1)
    several->count = 0;
  else
    buffer->use.stream = NULL;
}
