/* SPDX-License-Identifier: MIT */
/* The table of the streams that use a buffer: its room, and what it says after the release. */
#include "core/store/buffer_uses.h"

#include "support/suite.h"

#include <stdlib.h>

enum { MOST = 40 };
static clpi_stream streams[MOST + 1]; /* the last only releases */

static void setup(void)
{
  for (int i = 0; i <= MOST; i++)
    clpi_stream_init(&streams[i], &streams[i], true, true);
}

static void note_uses(clp_buffer *buffer, int count)
{
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(clpi_buffer_note_use_locked(buffer, &streams[i]), CLP_SUCCESS);
    ck_assert_uint_lt(buffer->noted->count, buffer->noted->capacity);
  }
}

/* What is written behind a table that is full would be another's memory. */
START_TEST(there_is_room_for_the_streams_and_the_release)
{
  clp_buffer buffer = {.noted = NULL};
  note_uses(&buffer, _i);
  for (int i = 0; i <= MOST; i++)
    streams[i].epoch = 7;
  clpi_buffer_note_release_locked(&buffer, &streams[MOST]);
  clpi_set_state(&buffer, CLPI_BUFFER_HELD);
  clpi_uses uses = clpi_uses_of(&buffer);
  ck_assert_uint_eq(uses.count, (size_t)_i + 1);
  ck_assert(!buffer.noted || uses.count <= buffer.noted->capacity);
  for (int i = 0; i <= _i; i++) {
    ck_assert_ptr_eq(uses.uses[i].stream, &streams[i < _i ? i : MOST]);
    ck_assert_uint_eq(uses.uses[i].epoch, 7);
  }
  free(buffer.noted);
}
END_TEST

START_TEST(a_stream_that_also_releases_has_one_use)
{
  clp_buffer buffer = {.noted = NULL};
  note_uses(&buffer, _i);
  clpi_buffer_note_release_locked(&buffer, &streams[0]);
  clpi_set_state(&buffer, CLPI_BUFFER_HELD);
  ck_assert_uint_eq(clpi_uses_of(&buffer).count, (size_t)_i);
  free(buffer.noted);
}
END_TEST

CLPT_MAIN("uses of buffers", clpt_run)
{
  TCase *tests = clpt_case(suite, "uses");

  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_loop_test(tests, there_is_room_for_the_streams_and_the_release, 0, MOST + 1);
  tcase_add_loop_test(tests, a_stream_that_also_releases_has_one_use, 1, MOST + 1);
}
