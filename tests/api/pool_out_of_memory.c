/* SPDX-License-Identifier: MIT */
/* When memory runs out: which steps a pool takes, in which order, when it stops, what it says; and
 * what on_out_of_memory may do. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>

/* --- the steps --- */

/* A request of 1023 bytes, which is its bin's size. The setup, in words of a letter and a number:
 *
 *   h  the pool holds a block of so many bytes; o: another pool does
 *   a  a buffer of the pool that the callback releases, one a call; e: of another pool, whose
 *      releases go to the device
 *   c  the allocator keeps so many bytes; p1: what is freed is back after a drain
 *   b  the allocator can neither drain nor return what it keeps
 *   A  the next allocation fails with that status; B: the one after it
 *   D  F R  the next drain, free or return of what is kept fails
 *
 * The trace: A allocate, F free, D drain, R return_cached, C the callback, ! it fails. */
static const struct row {
  size_t capacity, limit; /* 0: no bound */
  const char *setup;
  unsigned says_yes; /* the callback, so often */
  clp_status status;
  const char *trace;
} rows[] = {
#define ALL_STEPS "A1023! D A1023! R A1023! C1023"
#define FULL      CLP_OUT_OF_DEVICE_MEMORY
    /* Own held blocks go, largest first, until it works. Then those of other pools. */
    {1748, 0, "h200 h400 h100", 0, 0, "A1023"},
    {1333, 0, "h200 h400 h100", 0, 0, "A1023! F415 A1023"},
    {1023, 0, "h200 h400 h100", 0, 0, "A1023! F415 A1023! F207 A1023! F103 A1023"},
    {1023, 0, "h100 o200", 0, 0, "A1023! F103 A1023! F207 A1023"},
    /* Each step is taken once, in order. One that fails is passed over. */
    {1000, 0, "h100", 0, FULL, "A1023! F103 " ALL_STEPS},
    {1000, 0, "b h100", 0, FULL, "A1023! F103 A1023! C1023"},
    {1100, 0, "h500 p1", 0, 0, "A1023! F511 A1023! D A1023"},
    {1100, 0, "c500", 0, 0, "A1023! D A1023! R A1023"},
    {1100, 0, "c500 D1", 0, 0, "A1023! D! R A1023"},
    {1100, 0, "c500 D1 R1", 0, FULL, "A1023! D! R! C1023"},
    {1415, 0, "h400 c500 F1", 0, FULL, "A1023! F415! D A1023! R A1023! C1023"},
    /* What is no lack of memory ends the request at once. */
    {0, 0, "h100 A3", 0, CLP_OUT_OF_HOST_MEMORY, "A1023!"},
    {0, 0, "h100 A4", 0, CLP_LIMIT_EXCEEDED, "A1023!"}, /* the allocator's own */
    {0, 0, "h100 A10", 0, CLP_BACKEND_ERROR, "A1023!"},
    {1023, 0, "h100 h200 B10", 0, CLP_BACKEND_ERROR, "A1023! F207 A1023!"},
    /* The callback is called as long as it says yes, and each time all steps follow. */
    {1000, 0, "", 2, FULL, ALL_STEPS " " ALL_STEPS " " ALL_STEPS},
    {1100, 0, "e500", 1, 0, ALL_STEPS " F511 A1023"},
    {1100, 0, "e500 p1", 1, 0, ALL_STEPS " F511 A1023! D A1023"},
    {1100, 0, "a1010", 1, 0, ALL_STEPS}, /* its block serves the request */
    {1100, 0, "a100 a400", 2, 0, ALL_STEPS " A1023! F103 " ALL_STEPS " A1023! F415 A1023"},
    /* A limit that refuses calls it, but not if nothing could help. It neither drains nor takes
     * from other pools. */
    {0, 1023, "a10", 0, CLP_LIMIT_EXCEEDED, "C1023"},
    {0, 1022, "o100", 1, CLP_LIMIT_EXCEEDED, ""},
    {0, 1100, "a400", 1, 0, "C1023 F415 A1023"},
    {0, 1100, "a400 a200", 2, 0, "C1023 F415 C1023 F207 A1023"},
    {0, 1100, "a1010", 1, 0, "C1023"},
    {0, 1030, "a10 a10 a10 o100", 0, CLP_LIMIT_EXCEEDED, "C1023"},
};

static clpt_rig rig;
static clp_pool *other;
static unsigned says_yes;       /* the callback, so often yet */
static clp_buffer *releases[8]; /* by it, one a call, as far as the first NULL */
static size_t released;

static bool help(clp_pool *pool, size_t bytes, void *user_data)
{
  clpt_device_note(&rig.device, CLPT_CALLBACK, bytes);
  ck_assert_ptr_eq(pool, rig.pool);
  if (releases[released])
    clpt_ok(clp_buffer_release(releases[released++]));
  return says_yes && says_yes--;
}

static void set_up_word(char what, size_t number, clp_buffer **out)
{
  clpt_device *device = &rig.device;
  clpt_fault fault = {.count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
  clpt_fault allocate = {.after = what == 'B', .count = 1, .status = (clp_status)number};
  if (what == 'h' || what == 'o')
    clpt_hold(what == 'h' ? rig.pool : other, number, 1);
  else if (what == 'e')
    clpt_ok(clp_pool_stop_holding(other));
  if (what == 'a' || what == 'e')
    *out = clpt_allocate(what == 'a' ? rig.pool : other, number);
  device->cached_bytes += what == 'c' ? number : 0;
  device->frees_are_pending |= what == 'p';
  device->allocate_fault = what == 'A' || what == 'B' ? allocate : device->allocate_fault;
  device->drain_fault = what == 'D' ? fault : device->drain_fault;
  device->free_fault = what == 'F' ? fault : device->free_fault;
  device->return_cached_fault = what == 'R' ? fault : device->return_cached_fault;
}

static void start_row(const struct row *it)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  size_t count = 0;
  says_yes = it->says_yes;
  released = 0;
  memset(releases, 0, sizeof(releases));
  clpt_device_init(&rig.device);
  if (it->setup[0] == 'b')
    rig.device.ops.drain = rig.device.ops.return_cached = NULL;
  options.on_out_of_memory = help;
  clpt_rig_start_with(&rig, &options);
  other = clpt_pool(rig.allocator);
  for (const char *at = it->setup; *at; at += *at == ' ') {
    char what = *at, *end;
    size_t number = strtoul(at + 1, &end, 10);
    set_up_word(what, number, &releases[count]);
    count += releases[count] != NULL;
    at = end;
  }
  clpt_ok(clp_pool_set_limit(rig.pool, it->limit));
  rig.device.capacity = it->capacity;
}

START_TEST(each_row)
{
  const struct row *it = &rows[_i];
  clp_buffer *buffer = (clp_buffer *)&rig;
  start_row(it);
  bool runs_out = it->capacity && strchr(it->trace, '!');
  clp_pool_stats before = clpt_stats(rig.pool);
  clpt_device_clear_trace(&rig.device);
  clp_status status = clp_pool_allocate(rig.pool, 1023, &buffer);
  clpt_device_trace_is(&rig.device, it->trace);
  ck_assert_int_eq(status, it->status);
  ck_assert(!status == !!buffer);
  ck_assert(!status || clp_last_error()->status == status);
  clp_pool_stats after = clpt_stats(rig.pool);
  ck_assert_uint_eq(after.out_of_memory_reactions, runs_out);
  ck_assert_uint_eq(after.allocations - before.allocations, !status);
  ck_assert_uint_eq(after.managed_bytes + clpt_stats(other).managed_bytes, rig.device.live_bytes);
  rig.device.capacity = 0;
  clpt_ok(clp_buffer_release(buffer));
  for (size_t i = released; releases[i]; i++)
    clpt_ok(clp_buffer_release(releases[i]));
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

/* With a message of the allocator's own, and without. */
START_TEST(the_message_is_of_the_allocation_and_has_all_figures)
{
  static const char *const parts[] = {"1000", "1023", "207", "held 0", "54321"};
  clpt_fault fault = {.count = 100, .status = CLP_OUT_OF_DEVICE_MEMORY};
  clp_buffer *buffer = NULL;
  if (_i) {
    fault.message = "mem object allocation failure";
    fault.native_code = -4;
  }
  clpt_rig_start(&rig);
  clp_buffer *active = clpt_allocate(rig.pool, 200);
  clpt_ok(clp_pool_set_limit(rig.pool, 54321));
  rig.device.allocate_fault = fault;
  rig.device.drain_fault = rig.device.return_cached_fault = (clpt_fault){
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "no such queue"};
  clpt_fails(FULL, clp_pool_allocate(rig.pool, 1000, &buffer));
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
    clpt_message_has(parts[i]);
  clpt_message_has(_i ? fault.message : "");
  ck_assert_ptr_null(strstr(clp_last_error()->message, "no such queue"));
  ck_assert_int_eq(clp_last_error()->native_code, fault.native_code);
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

/* --- the callback --- */

/* Where pools stand, and what refuses them. */
enum { ON_DEVICE, AT_LIMIT, ON_ARENA, ASKING_EACH_OTHER, KINDS };

typedef struct asker {
  clp_pool *pool, *other; /* whose callback it is; whom it asks */
  clp_status refusal;     /* of that */
  unsigned calls;
} asker;

static bool ask_for_more(clp_pool *pool, size_t bytes, void *user_data)
{
  asker *self = user_data;
  clp_buffer *staging = NULL;
  ck_assert_ptr_eq(pool, self->pool);
  self->calls++;
  clpt_fails(self->refusal, clp_pool_allocate(self->other, 5000, &staging));
  return self->calls < 3;
}

static clp_pool *pool_with(clp_allocator *allocator, clp_out_of_memory_callback callback,
                           void *user_data)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  options.leading_bits_in_bin_id = 16;
  options.on_out_of_memory = callback;
  options.user_data = user_data;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  return pool;
}

static clpt_device device;

static clp_allocator *start_device(bool on_arena)
{
  clp_allocator *arena;
  clpt_device_init_split(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  if (!on_arena)
    return allocator;
  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_allocator_release(allocator);
  return arena;
}

static void end_device(clp_allocator *allocator, clp_pool *pool)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}

START_TEST(inside_its_callback_a_pool_calls_none)
{
  asker askers[2] = {{.calls = 0}};
  clp_buffer *active[2], *buffer = NULL;
  clp_status refusal = _i == AT_LIMIT ? CLP_LIMIT_EXCEEDED : FULL;
  clp_allocator *allocator = start_device(_i == ON_ARENA);
  for (int i = 0; i < 2; i++) {
    askers[i].pool = pool_with(allocator, ask_for_more, &askers[i]);
    active[i] = clpt_allocate(askers[i].pool, 4096);
    askers[i].refusal = refusal;
  }
  for (int i = 0; i < 2; i++)
    askers[i].other = askers[_i == ASKING_EACH_OTHER ? !i : i].pool;
  device.capacity = _i == AT_LIMIT ? 0 : device.live_bytes + 1000;
  clpt_ok(clp_pool_set_limit(askers[0].pool, _i == AT_LIMIT ? 6000 : 0));
  clpt_fails(refusal, clp_pool_allocate(askers[0].pool, 5000, &buffer));
  ck_assert_uint_eq(askers[0].calls, 3);
  ck_assert_uint_eq(askers[1].calls, _i == ASKING_EACH_OTHER ? 5 : 0); /* 3, and 1 each time */
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_buffer_release(active[i]));
  clp_pool_release(askers[0].pool);
  end_device(allocator, askers[1].pool);
}
END_TEST

static unsigned promises;

static bool promise(clp_pool *pool, size_t bytes, void *user_data)
{
  ck_assert_uint_le(++promises, 1000);
  clpt_hold(pool, 10, 1); /* is no help */
  return true;
}

START_TEST(a_callback_that_only_promises_is_called_64_times)
{
  clp_buffer *buffer = NULL;
  clp_allocator *allocator = start_device(_i == ON_ARENA);
  clp_pool *pool = pool_with(allocator, promise, NULL);
  clp_buffer *active = clpt_allocate(pool, 500);
  promises = 0;
  clpt_ok(clp_pool_set_limit(pool, _i == ON_DEVICE ? 0 : 1100));
  device.capacity = _i == ON_DEVICE ? device.live_bytes + 600 : 0;
  clpt_fails(_i == ON_DEVICE ? FULL : CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 1000, &buffer));
  ck_assert_uint_eq(promises, 64);
  clpt_message_has("on_out_of_memory");
  clpt_message_has("64 times");
  clpt_ok(clp_buffer_release(active));
  end_device(allocator, pool);
}
END_TEST

/* A callback that releases one buffer each third time, and promises otherwise. */
typedef struct pieces {
  clp_buffer *buffers[200];
  size_t count, calls;
} pieces;

static bool free_a_piece(clp_pool *pool, size_t bytes, void *user_data)
{
  pieces *self = user_data;
  if (self->calls++ % 3 == 0 && self->count)
    clpt_ok(clp_buffer_release(self->buffers[--self->count]));
  return true;
}

START_TEST(a_callback_that_frees_in_pieces_is_called_on)
{
  enum { OF_THE_POOL, OF_AN_ARENA, OF_ANOTHER_POOL };
  pieces them = {.count = 200};
  clp_allocator *allocator = start_device(_i == OF_AN_ARENA);
  clp_pool *pool = pool_with(allocator, free_a_piece, &them), *beside = clpt_pool(allocator);
  for (size_t i = 0; i < them.count; i++)
    them.buffers[i] = clpt_allocate(_i == OF_ANOTHER_POOL ? beside : pool, 1000);
  device.capacity = device.live_bytes;
  clpt_hold(pool, 200 * 1000, 1);
  ck_assert_uint_lt(them.count, 5); /* an arena rounds each up */
  while (them.count > 0)
    clpt_ok(clp_buffer_release(them.buffers[--them.count]));
  clp_pool_release(beside);
  end_device(allocator, pool);
}
END_TEST

CLPT_SUITE("out of memory")
{
  TCase *tests = clpt_case(suite, "steps");
  tcase_add_loop_test(tests, each_row, 0, sizeof(rows) / sizeof(rows[0]));
  tcase_add_loop_test(tests, the_message_is_of_the_allocation_and_has_all_figures, 0, 2);
  tests = clpt_case(suite, "callback");
  tcase_add_loop_test(tests, inside_its_callback_a_pool_calls_none, 0, KINDS);
  tcase_add_loop_test(tests, a_callback_that_only_promises_is_called_64_times, 0, ON_ARENA + 1);
  tcase_add_loop_test(tests, a_callback_that_frees_in_pieces_is_called_on, 0, 3);
}
