/* SPDX-License-Identifier: MIT */
/* What hooks are shown (cupy.cuda.MemoryHook): a table of programs on two pools, on the device or
 * on an arena. So the table says, too, when a pool on an arena takes and returns segments. */
#include "support/arenas.h"
#include "support/late_rig.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"

#include <ctype.h>

enum { DEVICE_ID = 7, UNIT = CLPT_SEGMENT, DEVICE_BLOCK = 1 << 30, MOST_BUFFERS = 24 };

static clp_allocator *allocator; /* of both pools */
static clp_pool *pools[2];
static clpt_recorder seen, of_pools[2];

/* A buffer, and what hooks are shown of it. */
typedef struct taken {
  clp_buffer *buffer;
  clp_memory memory;
  uint64_t id;
} taken;
static taken all[MOST_BUFFERS];
static size_t count;

/* --- callbacks --- */

/* Looks at the pool, and fails, which is no error of the caller. */
static void look(clpt_recorder *self, const clp_hook_event *event)
{
  clp_buffer *none;
  ck_assert_int_eq(event->device_id, DEVICE_ID);
  ck_assert_ptr_null(event->stream);
  (void)clpt_stats(event->pool);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(NULL, 1, &none));
}

static void use_pools(clpt_recorder *self, const clp_hook_event *event)
{
  clp_pool *own = clpt_pool(clp_pool_allocator(event->pool));
  clp_buffer *last = clpt_allocate(own, 100);
  clp_pool_release(own);
  clpt_ok(clp_buffer_release(last));
  for (size_t i = 0; i < 2; i++) {
    clpt_hold(pools[i], 5000, 3);
    clpt_hold(pools[i], 0, 1);
  }
  if (clpt_arena && self->last[0] == 'a') {
    clpt_arena_give(clpt_memory(clpt_arena, 3 * UNIT), 3 * UNIT);
    clpt_ok(clp_arena_reserve(clpt_arena, 6 * UNIT));
    clpt_ok(clp_arena_reserve(clpt_arena, 0));
  }
  for (size_t i = 0; i < 2; i++)
    clpt_ok(clp_pool_free_held(pools[i]));
}

/* More than there is. What the callback is called for is on its way, and not waited for. */
static void ask_in_vain(clpt_recorder *self, const clp_hook_event *event)
{
  clp_buffer *none;
  if (self->last[1] != '<' || !strchr("ad", self->last[0]))
    return;
  clp_status status = clp_pool_allocate(event->pool, 3 * UNIT, &none);
  ck_assert(status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED);
}

/* When memory has gone, has the pool, which is ending, take some: it stays with the first. */
static void take_at_the_end(clpt_recorder *self, const clp_hook_event *event)
{
  if (strcmp(self->last, "d>") != 0 || !event->memory)
    return;
  clp_buffer *buffer = clpt_allocate(event->pool, 10);
  if (count == 1)
    all[count++].buffer = buffer;
  else
    clpt_ok(clp_buffer_release(buffer));
}

/* --- programs --- */

/* Steps: a100 allocates 100 bytes, r0 releases the first buffer; f frees all held blocks, e
 * releases the pool, l500 limits it, w gives it a hook. A capital: the other pool. c500: the device
 * has 500 bytes; d: its next free fails; v4K reserves 4 KiB. `!`: the step fails, and `|` empties
 * the log. The log is of the thread's hook, with p: and q: of hooks of pools. */
typedef struct program {
  const char *steps, *log;
  const char *figures; /* of the pool: hits, misses, device allocations, device frees */
  bool is_on_arena;
  void (*also)(clpt_recorder *self, const clp_hook_event *event); /* NULL: look */
} program;

static const program programs[] = {
    {.steps = "a100 r0 a100 r1 f",
     .log = "m<100:103 a<103 a>103 m>100:103 f<100:103 f>100:103 "
            "m<100:103 m>100:103 f<100:103 f>100:103 d<103 d>103"},
    {.steps = "w W A0", .log = "m<0:0 q:m<0:0 m>0:0 q:m>0:0"},
    {.steps = "a1048577K!", .log = ""},
    /* Each try is an alloc, and none is where a limit refuses. */
    {.steps = "c1000 a1000!",
     .log = "m<1000:1023 a<1023 a>1023! a<1023 a>1023! a<1023 a>1023! m>1000:1023!"},
    {.steps = "l1000 a1000!", .log = "m<1000:1023 m>1000:1023!"},
    {.steps = "w W c1100 A500 R0 | a1000",
     .log = "m<1000:1023 p:m<1000:1023 a<1023 p:a<1023 a>1023! p:a>1023! d<511 q:d<511 d>511 "
            "q:d>511 a<1023 p:a<1023 a>1023 p:a>1023 m>1000:1023 p:m>1000:1023"},
    /* Memory that goes back. */
    {.steps = "A100 A1000 R0 W | E R1",
     .log = "d<103 q:d<103 d>103 q:d>103 f<1000:1023 q:f<1000:1023 d<1023 q:d<1023 d>1023 "
            "q:d>1023 f>1000:1023 q:f>1000:1023"},
    {.steps = "A100 R0 W d | E",
     .log = "d<103 q:d<103 d>103! q:d>103! d<103 q:d<103 d>103 q:d>103"},
    {.steps = "A100 R0 d | E", .also = take_at_the_end, .log = "d<103 d>103! d<103 d>103"},
    /* Callbacks. */
    {.steps = "W a100 r0 f",
     .also = use_pools,
     .log = "m<100:103 a<103 a>103 m>100:103 f<100:103 f>100:103"},
    {.steps = "c600 a500 r0 | f", .also = ask_in_vain, .log = "d<511 d>511"},
    /* On an arena: a segment is of the pool that took it, and serves all. */
    {.steps = "w a1000 a2000 r0 r1 f",
     .is_on_arena = true,
     .figures = "1 1 1 1",
     .log = "m<1000:1024 p:m<1000:1024 a<65536 p:a<65536 a>65536 p:a>65536 m>1000:1024 "
            "p:m>1000:1024 m<2000:2048 p:m<2000:2048 m>2000:2048 p:m>2000:2048 "
            "f<1000:1024 p:f<1000:1024 f>1000:1024 p:f>1000:1024 f<2000:2048 "
            "p:f<2000:2048 f>2000:2048 p:f>2000:2048 d<65536 p:d<65536 d>65536 p:d>65536"},
    {.steps = "a1000 A60000 r0 r1 | A128K",
     .is_on_arena = true,
     .figures = "0 1 1 0",
     .log = "m<131072:131072 d<65536 d>65536 a<131072 a>131072 m>131072:131072"},
    {.steps = "a1000 r0 d | f!",
     .is_on_arena = true,
     .figures = "0 1 1 0",
     .log = "d<65536 d>65536!"},
    {.steps = "W a1000 r0",
     .is_on_arena = true,
     .also = use_pools,
     .figures = "20 5 5 6",
     .log = "m<1000:1024 a<65536 a>65536 m>1000:1024 f<1000:1024 f>1000:1024"},
    {.steps = "c128K a1000 r0 | f",
     .is_on_arena = true,
     .also = ask_in_vain,
     .log = "d<65536 d>65536"},
    {.steps = "c512K A192K v512K R0 | a384K",
     .is_on_arena = true,
     .figures = "0 1 1 2",
     .log = "m<393216:393216 d<327680 d>327680 a<393216 a>393216! d<196608 d>196608 "
            "a<393216 a>393216 m>393216:393216"},
    {.steps = "a1000 a192K r1 e | r0",
     .is_on_arena = true,
     .log = "f<1000:1024 d<65536 d>65536 f>1000:1024"},
    {.steps = "l128K A66536 a20000 a64K! A192K R0 | a64000",
     .is_on_arena = true,
     .log = "m<64000:64000 m>64000:64000"},
};

static void start(const program *it)
{
  static const char *const names[] = {"p", "q"};
  clpt_arena_setup();
  clpt_arena_device.ops.device_id = DEVICE_ID;
  clpt_arena_device.ops.max_block_bytes = DEVICE_BLOCK;
  clpt_arena_device.ops.alignment =
      it->is_on_arena ? 0 : (size_t)1 << 20; /* bins are asked for alone */
  if (it->is_on_arena)
    clpt_arena_start(NULL);
  else
    clpt_arena = NULL;
  allocator = it->is_on_arena ? clpt_arena : clpt_device_allocator(&clpt_arena_device);
  memset(all, 0, sizeof(all));
  count = 0;
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
  for (size_t i = 0; i < 2; i++) {
    pools[i] = clpt_pool(allocator);
    clpt_recorder_init(&of_pools[i], names[i]);
    of_pools[i].log_of = &seen;
  }
  seen.also = it->also ? it->also : look;
}

static void end(void)
{
  seen.also = NULL;
  for (size_t i = 0; i < count; i++)
    clpt_ok(clp_buffer_release(all[i].buffer));
  for (size_t i = 0; i < 2; i++)
    clp_pool_release(pools[i]);
  clpt_ok(clp_hook_pop(&seen.hook));
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&clpt_arena_device);
}

/* What the hook is shown last is of this buffer. */
static void check_shown(const taken *it, clp_pool *pool)
{
  const clp_hook_event *event = &seen.events[seen.count - 1];
  ck_assert_ptr_eq(event->pool, pool);
  ck_assert_uint_eq(event->memory, it->memory);
  ck_assert(event->buffer_id && event->buffer_id == it->id);
}

static clp_status allocate(clp_pool *pool, size_t bytes)
{
  taken *it = &all[count];
  clp_status status = clp_pool_allocate(pool, bytes, &it->buffer);
  ck_assert(!status == !!it->buffer);
  if (status)
    return status;
  *it = (taken){it->buffer, clp_buffer_memory(it->buffer), seen.events[seen.count - 1].buffer_id};
  count++;
  check_shown(it, pool);
  return status;
}

static clp_status release(taken *it)
{
  clp_buffer *buffer = it->buffer;
  clp_pool *pool = clp_buffer_pool(buffer);
  it->buffer = NULL;
  clp_status status = clp_buffer_release(buffer);
  check_shown(it, pool);
  return status;
}

static clp_status make_step(char what, size_t number)
{
  clpt_fault fault = {.count = 1, .status = CLP_BACKEND_ERROR, .message = "not now"};
  clp_pool **pool = &pools[isupper(what) != 0], *ending = *pool;
  switch (tolower(what)) {
  case 'a':
    return allocate(*pool, number);
  case 'r':
    return release(&all[number]);
  case 'e':
    *pool = NULL;
    clp_pool_release(ending);
    return CLP_SUCCESS;
  case 'f':
    return clp_pool_free_held(*pool);
  case 'l':
    return clp_pool_set_limit(*pool, number);
  case 'v':
    return clp_arena_reserve(allocator, number);
  case 'w':
    return clp_pool_add_hook(*pool, &of_pools[pool == &pools[1]].hook);
  case 'c':
    clpt_arena_device.capacity = number;
    return CLP_SUCCESS;
  case 'd':
    clpt_arena_device.free_fault = fault;
    return CLP_SUCCESS;
  case '|':
    clpt_recorder_clear(&seen);
    return CLP_SUCCESS;
  default:
    ck_abort_msg("%c is no step", what);
  }
}

START_TEST(each_program)
{
  const program *it = &programs[_i];
  char figures[100];
  start(it);
  for (const char *at = it->steps; *at; at += strspn(at, " ")) {
    char what = *at, *end;
    size_t number = strtoul(at + 1, &end, 10);
    number *= *end == 'K' ? 1024 : 1;
    end += *end == 'K';
    if (*end != '!')
      clpt_ok_quietly(make_step(what, number));
    else
      ck_assert_int_eq(make_step(what, number), clp_last_error()->status);
    at = end + (*end == '!');
  }
  ck_assert_str_eq(seen.log, it->log);
  if (it->figures) {
    clp_pool_stats is = clpt_stats(pools[0]);
    (void)snprintf(figures, sizeof(figures), "%d %d %d %d", (int)is.hits, (int)is.misses,
                   (int)is.device_allocations, (int)is.device_frees);
    ck_assert_str_eq(figures, it->figures);
  }
  end();
}
END_TEST

/* --- streams --- */

/* All events of a call are of this stream. */
static void shown_on(clp_stream stream, clp_status status)
{
  clpt_ok(status);
  ck_assert_uint_gt(seen.count, 0);
  for (size_t i = 0; i < seen.count; i++)
    ck_assert_ptr_eq(seen.events[i].stream, stream);
  clpt_recorder_clear(&seen);
}

START_TEST(events_tell_the_stream_of_the_call)
{
  clpt_late_rig rig;
  clp_buffer *buffer;
  clpt_late_start(&rig, CLPT_REUSE_EITHER, true, CLPT_LATE_FREES_AT_ONCE);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
  for (int round = 0; round < 2; round++) { /* a miss, then a hit */
    shown_on(rig.s, clp_pool_allocate_on(rig.pool, 100, rig.s, &buffer));
    shown_on(rig.t, clp_buffer_release_on(buffer, rig.t));
  }
  shown_on(rig.home, clp_pool_allocate(rig.pool, 100, &buffer));
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  shown_on(rig.s, clp_buffer_release(buffer));
  shown_on(rig.s, clp_pool_allocate_on(rig.pool, 100, rig.s, &buffer));
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  shown_on(rig.t, clp_buffer_release_on(buffer, rig.t));
  shown_on(rig.home, clp_pool_free_held(rig.pool));
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("hook", clpt_run)
{
  TCase *tests = clpt_case(suite, "events");
  tcase_add_loop_test(tests, each_program, 0, sizeof(programs) / sizeof(programs[0]));
  tcase_add_test(tests, events_tell_the_stream_of_the_call);
}
