/* SPDX-License-Identifier: MIT */
/* Uses, and the marks that tell when they are done. */
#include "core/streams/stream.h"
#include "core/streams/use.h"
#include "support/late_device.h"
#include "support/suite.h"

#include <clpool/allocator.h>

enum { USES = 200, BYTES = 16 };

/* A stream, and memory that it uses again and again. */
typedef struct bench {
  clpt_late_device device;
  clp_allocator *allocator;
  clp_memory memory;
  clp_stream handle;
  pthread_mutex_t lock;
  clpi_streams streams;
  clpi_stream *stream;
  clpi_use uses[USES];
} bench;

static void note_nothing(clpi_streams *streams)
{
  (void)streams;
}

static const clpi_streams_owner nobody = {note_nothing, note_nothing, note_nothing};

static void start(bench *it)
{
  clpt_late_init(&it->device);
  it->allocator = clpt_late_allocator(&it->device);
  it->handle = clpt_late_stream_new(&it->device);
  clpt_ok(clp_allocator_allocate(it->allocator, BYTES, &it->memory));
  pthread_mutex_init(&it->lock, NULL);
  clpi_streams_init(&it->streams, it->allocator, &it->lock, &nobody);
  clpt_ok(clpi_stream_pin(&it->streams, it->handle, &it->stream));
}

static void end(bench *it)
{
  clpt_late_run(&it->device, it->handle);
  clpi_stream_unpin(&it->streams, it->stream);
  clpi_streams_end(&it->streams);
  pthread_mutex_destroy(&it->lock);
  clpt_ok(clp_allocator_free(it->allocator, it->memory, BYTES));
  clpt_late_stream_drop(&it->device, it->handle);
  clp_allocator_release(it->allocator);
  clpt_late_assert_ended(&it->device);
}

/* One piece of work. */
static void use(bench *it, size_t number)
{
  clpt_late_write(&it->device, it->handle, it->memory);
  it->uses[number] = clpi_use_now(it->stream);
}

static bool poll_use(bench *it, size_t number)
{
  return clpi_use_settle(&it->streams, &it->uses[number], NULL, CLPI_POLL);
}

/* Each use is asked for when it is new, so that there are far more marks than are kept. */
START_TEST(what_is_done_is_known_however_much_is_not)
{
  bench it;

  start(&it);
  for (size_t i = 0; i < USES; i++) {
    use(&it, i);
    ck_assert(!poll_use(&it, i));
  }
  ck_assert_uint_lt(it.device.live_marks, USES / 8);
  for (size_t done = 0; done < USES; done++) {
    ck_assert(clpt_late_step(&it.device, it.handle));
    ck_assert(poll_use(&it, done > USES / 8 ? done - USES / 8 : 0));
  }
  end(&it);
}
END_TEST

CLPT_MAIN("uses", clpt_run)
{
  TCase *tests = clpt_case(suite, "marks");

  tcase_add_test(tests, what_is_done_is_known_however_much_is_not);
}
