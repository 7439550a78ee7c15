/* SPDX-License-Identifier: MIT */
/* Stream order: programs by chance. Each takes, shares, moves, binds and releases buffers on
 * several streams, as the contract allows, while their work is done in some order; the device finds
 * every use that comes too early. Then the same on devices that get something wrong, which must
 * show. */
#include "support/late_device.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <time.h>

enum { STREAMS = 4, HOME = 0, POOLS = 2, SLOTS = 6, ACTIONS = 70, PROGRAMS = 12000 };

/* A buffer as its user sees it. Streams are numbers here. */
typedef struct slot {
  clp_buffer *buffer;
  unsigned lead;  /* all use that is not noted comes before what this stream is given from now on */
  unsigned noted; /* streams, one bit each */
  bool is_bound;
  unsigned bound;
} slot;

typedef struct program {
  clpt_late_device device;
  clp_allocator *allocator; /* of the device, or an arena on that */
  clp_pool *pools[POOLS];
  clp_stream streams[STREAMS];
  bool home;  /* streams[HOME] is where unordered use is */
  bool tight; /* memory may run out, limits may be reached */
  slot slots[SLOTS];
  clpt_chance chance;
} program;

static unsigned below(program *it, unsigned bound)
{
  return (unsigned)clpt_chance_below(&it->chance, bound);
}

static void order(program *it, unsigned earlier, unsigned later)
{
  if (earlier != later)
    clpt_late_order(&it->device, it->streams[earlier], it->streams[later]);
}

static void look(program *it, const slot *at, unsigned stream)
{
  clpt_late_read(&it->device, it->streams[stream], clp_buffer_memory(at->buffer));
}

/* Makes `stream` the one that all use comes before, and writes there. */
static void write_on(program *it, slot *at, unsigned stream)
{
  order(it, at->lead, stream);
  for (unsigned other = 0; other < STREAMS; other++)
    if (at->noted & 1u << other)
      order(it, other, stream);
  clpt_late_write(&it->device, it->streams[stream], clp_buffer_memory(at->buffer));
  at->lead = stream;
  look(it, at, stream);
}

/* --- when the host may wait --- */

typedef enum wait_rule { HOST_NEVER_WAITS, HOST_WAITS_FOR_FREES, HOST_MAY_WAIT } wait_rule;

static unsigned host_waits(const program *it)
{
  return it->device.calls[CLPT_LATE_HOST_WAIT];
}

static void check_host(const program *it, unsigned before, wait_rule rule)
{
  bool frees_wait = !it->device.ops.free_is_ordered && it->device.ops.free_on == NULL;

  if (rule == HOST_MAY_WAIT || it->tight || (rule == HOST_WAITS_FOR_FREES && frees_wait))
    return;
  ck_assert_msg(host_waits(it) == before, "the host waited");
}

/* --- what programs do --- */

static void take(program *it, slot *at)
{
  static const size_t sizes[] = {100, 101, 1000, 5000};
  clp_pool *pool = it->pools[below(it, POOLS)];
  unsigned stream = below(it, STREAMS), before = host_waits(it);
  size_t bytes = sizes[below(it, 4)];
  bool unordered = below(it, 4) == 0;
  clp_status status;

  *at = (slot){0};
  if (unordered && it->home)
    stream = HOME;
  status = unordered ? clp_pool_allocate(pool, bytes, &at->buffer)
                     : clp_pool_allocate_on(pool, bytes, it->streams[stream], &at->buffer);
  check_host(it, before, HOST_NEVER_WAITS);
  if (it->tight && (status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED))
    return;
  clpt_ok(status);
  at->lead = stream;
  write_on(it, at, stream);
}

/* What was noted once need not be noted again. */
static void share(program *it, slot *at)
{
  unsigned stream = below(it, STREAMS), before = host_waits(it);
  unsigned notes = at->noted & 1u << stream ? below(it, 2) : 1 + below(it, 2);
  bool first = below(it, 2);

  for (unsigned i = 0; first && i < notes; i++)
    clpt_ok(clp_buffer_record_use(at->buffer, it->streams[stream]));
  order(it, at->lead, stream);
  look(it, at, stream);
  for (unsigned i = 0; !first && i < notes; i++)
    clpt_ok(clp_buffer_record_use(at->buffer, it->streams[stream]));
  at->noted |= 1u << stream;
  check_host(it, before, HOST_NEVER_WAITS);
}

/* A stream that the buffer is newly bound to may use it at once. */
static void bind(program *it, slot *at)
{
  unsigned stream = below(it, STREAMS), before = host_waits(it);

  clpt_ok(clp_buffer_bind(at->buffer, it->streams[stream]));
  check_host(it, before, HOST_NEVER_WAITS);
  if (at->is_bound && at->lead == at->bound) {
    at->lead = stream;
    at->noted ? look(it, at, stream) : write_on(it, at, stream);
  }
  at->is_bound = true;
  at->bound = stream;
}

/* Then the work of the stream is done, and any stream may go on. */
static void unbind(program *it, slot *at)
{
  unsigned before = host_waits(it);

  clpt_ok(clp_buffer_unbind(at->buffer));
  ck_assert_uint_le(host_waits(it) - before, at->is_bound);
  if (at->is_bound && at->lead == at->bound)
    at->lead = below(it, STREAMS);
  at->is_bound = false;
}

static void release_unordered(program *it, slot *at)
{
  if (at->is_bound)
    order(it, at->lead, at->bound);
  else if (it->home)
    order(it, at->lead, HOME);
  else
    clpt_late_finish(&it->device, it->streams[at->lead]);
  clpt_ok(clp_buffer_release(at->buffer));
}

static void release(program *it, slot *at)
{
  unsigned stream = below(it, 2) ? at->lead : below(it, STREAMS), before = host_waits(it);

  look(it, at, at->lead);
  if (below(it, 3) == 0) {
    release_unordered(it, at);
  } else {
    order(it, at->lead, stream);
    clpt_ok(clp_buffer_release_on(at->buffer, it->streams[stream]));
  }
  at->buffer = NULL;
  check_host(it, before, HOST_NEVER_WAITS);
}

static void reclaim(program *it)
{
  clp_pool *pool = it->pools[below(it, POOLS)];
  unsigned before = host_waits(it);

  clpt_ok(below(it, 2) ? clp_pool_free_held(pool) : clp_pool_trim_to(pool, below(it, 5000)));
  if (it->tight)
    clpt_ok(clp_pool_set_limit(pool, below(it, 2) ? 0 : 3000 + below(it, 10000)));
  check_host(it, before, HOST_WAITS_FOR_FREES);
}

/* Drops a stream that no active buffer needs, and makes another. */
static void replace_stream(program *it)
{
  unsigned stream = below(it, STREAMS);

  if (it->home && stream == HOME)
    return;
  for (size_t i = 0; i < SLOTS; i++) {
    const slot *at = &it->slots[i];
    if (at->buffer != NULL &&
        (at->lead == stream || at->noted & 1u << stream || (at->is_bound && at->bound == stream)))
      return;
  }
  clpt_late_stream_drop(&it->device, it->streams[stream]);
  it->streams[stream] = clpt_late_stream_new(&it->device);
}

static void pass_time(program *it)
{
  if (below(it, 3) == 0)
    clpt_late_run(&it->device, it->streams[below(it, STREAMS)]);
  for (unsigned steps = below(it, 6); steps > 0; steps--)
    (void)clpt_late_step_any(&it->device, &it->chance);
}

/* The library's naps: where it waits for what streams have in flight, time passes. */
static program *napping;
static uint64_t naps;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration;
  (void)left;
  naps++;
  pass_time(napping);
  return 0;
}

static void act(program *it)
{
  slot *at = &it->slots[below(it, SLOTS)];
  unsigned choice = below(it, 40);

  if (choice == 0)
    reclaim(it);
  else if (choice == 1)
    replace_stream(it);
  else if (choice < 10)
    pass_time(it);
  else if (at->buffer == NULL)
    take(it, at);
  else if (choice < 15)
    write_on(it, at, below(it, STREAMS));
  else if (choice < 20)
    share(it, at);
  else if (choice < 23)
    bind(it, at);
  else if (choice < 24)
    unbind(it, at);
  else
    release(it, at);
}

/* --- programs --- */

/* With segments for a few blocks each. */
static void put_arena(program *it)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;

  options.slack = 0.1 * below(it, 4);
  options.min_segment_bytes = 512 + below(it, 8000);
  clpt_ok(clp_arena_allocator_create(it->allocator, &options, &arena));
  clp_allocator_release(it->allocator);
  it->allocator = arena;
}

static void start(program *it, unsigned number, clpt_late_defect defect)
{
  napping = it;
  it->chance = clpt_chance_seed(number);
  memset(it->slots, 0, sizeof(it->slots));
  clpt_late_init(&it->device);
  it->device.defect = defect;
  it->device.marks_are_work = below(it, 2);
  it->device.streams.reuse_addresses = below(it, 2);
  it->tight = defect == CLPT_LATE_SOUND && below(it, 4) == 0;
  it->device.capacity = it->tight ? 12000 : 0;
  clpt_late_set_freeing(&it->device, (clpt_late_freeing)below(it, CLPT_LATE_FREEINGS));
  for (size_t i = 0; i < STREAMS; i++)
    it->streams[i] = clpt_late_stream_new(&it->device);
  it->device.ops.exclusive_parts = below(it, 2);
  it->home = below(it, 2);
  it->device.ops.home_stream = it->home ? it->streams[HOME] : NULL;
  it->allocator = clpt_late_allocator(&it->device);
  if (below(it, 2))
    put_arena(it);
  for (size_t i = 0; i < POOLS; i++) {
    clp_pool_options options = CLP_POOL_OPTIONS_INIT;
    options.reuse_flags =
        below(it, 4) ? CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES : below(it, 4);
    clpt_ok(clp_pool_create(it->allocator, &options, &it->pools[i]));
  }
}

/* Work may be left at the end of the pools, and buffers active. */
static void finish(program *it)
{
  for (size_t i = 0; i < SLOTS; i++)
    if (it->slots[i].buffer != NULL && below(it, 2))
      release(it, &it->slots[i]);
  for (size_t i = 0; i < POOLS; i++) {
    clpt_stats(it->pools[i]);
    clp_pool_release(it->pools[i]);
  }
  it->tight = true; /* a buffer's release is a free now, which may wait */
  for (size_t i = 0; i < SLOTS; i++)
    if (it->slots[i].buffer != NULL)
      release(it, &it->slots[i]);
  clp_allocator_release(it->allocator);
  while (clpt_late_step_any(&it->device, &it->chance))
    ;
}

static void run(program *it, unsigned number, clpt_late_defect defect)
{
  start(it, number, defect);
  for (unsigned i = 0; i < ACTIONS; i++)
    act(it);
  finish(it);
}

START_TEST(no_program_sees_memory_too_early)
{
  enum { PARTS = 10 };
  unsigned programs = clpt_iterations(PROGRAMS) / PARTS + 1;
  uint64_t reads = 0;
  program it;

  for (unsigned i = 0; i < programs; i++) {
    unsigned number = (unsigned)_i + PARTS * i + 1;
    run(&it, number, CLPT_LATE_SOUND);
    ck_assert_msg(it.device.wrong[0] == '\0', "program %u: %s", number, it.device.wrong);
    reads += it.device.reads;
    clpt_late_assert_ended(&it.device);
  }
  ck_assert_uint_gt(reads, 10 * programs);
  ck_assert_uint_gt(naps, 0);
}
END_TEST

START_TEST(a_device_that_gets_it_wrong_is_found_out)
{
  unsigned found = 0;
  program it;

  for (unsigned number = 1; number <= 100; number++) {
    run(&it, number, (clpt_late_defect)_i);
    found += it.device.wrong[0] != '\0';
    clpt_late_end(&it.device);
  }
  ck_assert_uint_ge(found, 5);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: programs");
  TCase *tests = clpt_case(suite, "programs");

  tcase_add_loop_test(tests, no_program_sees_memory_too_early, 0, 10);
  tcase_add_loop_test(tests, a_device_that_gets_it_wrong_is_found_out,
                      CLPT_LATE_STREAMS_DO_NOT_WAIT, CLPT_LATE_HOST_DOES_NOT_WAIT + 1);
  return clpt_run(suite);
}
