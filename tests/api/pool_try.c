/* SPDX-License-Identifier: MIT */
/* Hits alone: what serves without a lock, and what is left to the full calls. While it is tried,
 * the pool's lock is taken, so whoever wants it hangs, and the test is over when its time is. */
#include "core/pool/pool.h"
#include "support/late_rig.h"
#include "support/recorder.h"
#include "support/suite.h"

enum { BYTES = CLPT_LATE_BYTES };

static clpt_late_rig rig;
static clpt_recorder recorder;
static clp_pool *other;

static void nothing(void)
{
}

static void hook_the_thread(void)
{
  clpt_ok(clp_hook_push(&recorder.hook));
}

static void hook_the_pool(void)
{
  clpt_ok(clp_pool_add_hook(rig.pool, &recorder.hook));
}

static void hook_another_pool(void)
{
  clpt_ok(clp_pool_add_hook(other, &recorder.hook));
}

static void set_a_limit(void)
{
  clpt_ok(clp_pool_set_limit(rig.pool, 1));
}

static void free_held(void)
{
  clpt_ok(clp_pool_free_held(rig.pool));
}

static void stop_holding(void)
{
  clpt_ok(clp_pool_stop_holding(rig.pool));
}

typedef enum where { HOME, S, T } where;

static const struct {
  const char *what;
  void (*begin)(void); /* with a block held of home's, and one of s */
  where stream;
  bool allocates, releases;
} situations[] = {
    {"warm", nothing, HOME, true, true},
    {"warm on a stream", nothing, S, true, true},
    {"a miss", free_held, HOME, false, true},
    {"a miss on a stream", free_held, S, false, true},
    {"released on other streams", nothing, T, false, true},
    {"a hook of the thread", hook_the_thread, HOME, false, false},
    {"a hook of the pool", hook_the_pool, S, false, false},
    {"a hook of another pool", hook_another_pool, HOME, true, true},
    {"a limit, and a hit", set_a_limit, HOME, true, true},
    {"no holding", stop_holding, HOME, false, false},
};
enum { SITUATIONS = sizeof(situations) / sizeof(situations[0]) };

static clp_stream stream_of(where stream)
{
  return stream == S ? rig.s : rig.t;
}

static clp_buffer *take(where stream)
{
  clp_buffer *buffer = NULL;

  clpt_ok(stream == HOME ? clp_pool_allocate(rig.pool, BYTES, &buffer)
                         : clp_pool_allocate_on(rig.pool, BYTES, stream_of(stream), &buffer));
  return buffer;
}

static void give(clp_buffer *buffer, where stream)
{
  clpt_ok(stream == HOME ? clp_buffer_release(buffer)
                         : clp_buffer_release_on(buffer, stream_of(stream)));
}

/* The pool knows the streams, and so does what the thread has of it. */
static void setup(void)
{
  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_NEVER);
  clpt_recorder_init(&recorder, "recorder");
  other = clpt_late_pool(&rig, CLPT_REUSE_NEVER);
  clp_buffer *buffers[] = {take(HOME), take(S)};
  give(take(T), T);
  clpt_ok(clp_pool_free_held(rig.pool));
  give(buffers[HOME], HOME);
  give(buffers[S], S);
}

static void teardown(void)
{
  (void)clp_hook_pop(&recorder.hook);
  (void)clp_pool_remove_hook(rig.pool, &recorder.hook);
  (void)clp_pool_remove_hook(other, &recorder.hook);
  clp_pool_release(other);
  clpt_late_rig_end(&rig);
}

static bool try_allocate(where stream, clp_buffer **out)
{
  pthread_mutex_lock(&rig.pool->shards.lock);
  bool done = stream == HOME ? clp_pool_try_allocate(rig.pool, BYTES, out)
                             : clp_pool_try_allocate_on(rig.pool, BYTES, stream_of(stream), out);
  pthread_mutex_unlock(&rig.pool->shards.lock);
  return done;
}

static bool try_release(clp_buffer *buffer, where stream)
{
  pthread_mutex_lock(&rig.pool->shards.lock);
  bool done = stream == HOME ? clp_buffer_try_release(buffer)
                             : clp_buffer_try_release_on(buffer, stream_of(stream));
  pthread_mutex_unlock(&rig.pool->shards.lock);
  return done;
}

START_TEST(a_hit_needs_no_pool_lock_and_the_rest_is_left_alone)
{
  where stream = situations[_i].stream;
  clp_buffer *buffer = (clp_buffer *)&rig;

  setup();
  situations[_i].begin();
  (void)clp_set_last_error(CLP_INVALID_ARGUMENT, 0, "before");
  clp_pool_stats before = clpt_stats(rig.pool);
  bool allocated = try_allocate(stream, &buffer);
  ck_assert_msg(allocated == situations[_i].allocates, "%s", situations[_i].what);
  ck_assert(allocated == (buffer != NULL));
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, before.hits + allocated);
  if (!allocated) {
    clp_pool_stats after = clpt_stats(rig.pool);
    clpt_assert_same_figures(&before, &after);
    clpt_ok(clp_pool_set_limit(rig.pool, 0));
    buffer = take(stream);
  }
  ck_assert_uint_eq(clp_buffer_size(buffer), BYTES);
  size_t active = clpt_stats(rig.pool).active_blocks;
  bool released = try_release(buffer, stream);
  ck_assert_msg(released == situations[_i].releases, "%s", situations[_i].what);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, active - released);
  ck_assert_str_eq(clp_last_error()->message, "before");
  if (!released)
    give(buffer, stream);
  teardown();
}
END_TEST

CLPT_SUITE("try")
{
  TCase *tests = clpt_case(suite, "try");
  tcase_add_loop_test(tests, a_hit_needs_no_pool_lock_and_the_rest_is_left_alone, 0, SITUATIONS);
}
