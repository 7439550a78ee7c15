/* SPDX-License-Identifier: MIT */
/* Fuzzes the public interface: the input is a program of calls, three bytes each, on two pools of
 * one allocator, with and without an arena, on host memory, simulated memory and a device whose
 * streams run late. After each call all must be as the model of its user says (subject.h). */
#include "subject.h"

#include <clpool/arena.h>
#include <string.h>

const char fuzz_corpus[] = "api";

enum { HEADER = 3, CALL = 3, MOST_CALLS = 200 };

static unsigned long long programs, calls;

static void tell(void)
{
  (void)fprintf(stderr, "fuzz_api: %llu programs of %llu calls\n", programs, calls);
}

/* One of those that there are, or none where calls need none. */
static int pick_stream(const subject *it, uint8_t byte)
{
  int choice = byte % (SUBJECT_STREAMS + 1);
  return it->kind == SUBJECT_LATE ? choice - 1 : -1;
}

static int pick_a_stream(uint8_t byte)
{
  return byte % SUBJECT_STREAMS;
}

/* --- calls on pools --- */

static void require_trimmed(const subject *it, clp_status status)
{
  fuzz_require(status == CLP_SUCCESS || (it->has_faults && status == CLP_BACKEND_ERROR));
}

static void stop_holding(subject *it, unsigned pool)
{
  require_trimmed(it, clp_pool_stop_holding(it->pools[pool]));
  it->stopped[pool] = true;
}

static void call_hooks(subject *it, unsigned pool, uint8_t byte)
{
  clp_status status =
      byte & 1 ? clp_hook_push(&it->hook) : clp_pool_add_hook(it->pools[pool], &it->hook);
  fuzz_require(status == CLP_SUCCESS || status == CLP_BUSY);
}

static void end_hooks(subject *it, unsigned pool)
{
  clp_status status = clp_hook_pop(&it->hook);
  fuzz_require(status == CLP_SUCCESS || status == CLP_NOT_FOUND);
  status = clp_pool_remove_hook(it->pools[pool], &it->hook);
  fuzz_require(status == CLP_SUCCESS || status == CLP_NOT_FOUND);
}

static void check_bins(const subject *it, unsigned pool)
{
  size_t bins[64], count = 0, active = 0, held = 0;
  clp_pool_stats all = CLP_POOL_STATS_INIT;
  fuzz_require(clp_pool_get_bins(it->pools[pool], bins, 64, &count) == CLP_SUCCESS);
  for (size_t i = 0; i < count && i < 64; i++) {
    clp_bin_stats stats = CLP_BIN_STATS_INIT;
    fuzz_require(clp_pool_get_bin_stats(it->pools[pool], bins[i], &stats) == CLP_SUCCESS);
    active += stats.active_blocks;
    held += stats.held_blocks;
  }
  fuzz_require(clp_pool_get_stats(it->pools[pool], &all) == CLP_SUCCESS);
  fuzz_require(count > 64 || (active <= all.active_blocks && held == all.held_blocks));
}

/* Structs of any size that are full of any byte: they are taken or refused, and nothing happens. */
static void call_wrongly(const subject *it, unsigned pool, uint8_t size, uint8_t content)
{
  union {
    size_t struct_size; /* the first field of all */
    clp_pool_options pool;
    clp_arena_options arena;
    clp_pool_stats stats;
    unsigned char bytes[UINT8_MAX];
  } given;
  clp_pool *made = NULL;
  clp_allocator *arena = NULL;
  memset(&given, content, sizeof(given));
  given.struct_size = size;
  clp_status status = clp_pool_create(it->allocator, &given.pool, &made);
  fuzz_require((status == CLP_SUCCESS) == (made != NULL));
  fuzz_require(!status || status == CLP_INVALID_ARGUMENT);
  clp_pool_release(made);
  status = clp_arena_allocator_create(it->allocator, &given.arena, &arena);
  fuzz_require((status == CLP_SUCCESS) == (arena != NULL));
  fuzz_require(!status || status == CLP_INVALID_ARGUMENT || status == CLP_NOT_SUPPORTED);
  clp_allocator_release(arena);
  status = clp_pool_get_stats(it->pools[pool], &given.stats);
  fuzz_require(!status || status == CLP_INVALID_ARGUMENT);
  fuzz_require(given.bytes[UINT8_MAX - 1] == (size < UINT8_MAX || status ? content : 0));
}

/* Calls of the device's fail from now on, or no more. */
static void make_fail(subject *it, uint8_t call, uint8_t count)
{
  static const clpt_late_call failing[] = {
      CLPT_LATE_ALLOCATE,      CLPT_LATE_FREE,         CLPT_LATE_FREE_ON,     CLPT_LATE_DRAIN,
      CLPT_LATE_MARK_CREATE,   CLPT_LATE_MARK_IS_DONE, CLPT_LATE_STREAM_WAIT, CLPT_LATE_HOST_WAIT,
      CLPT_LATE_STREAM_RETAIN, CLPT_LATE_SPLIT};
  it->device.failing = 1u << failing[call % (sizeof(failing) / sizeof(failing[0]))];
  it->device.fault = (clpt_fault){count / 4 % 4, count % 4, CLP_BACKEND_ERROR, 7, "on purpose"};
  it->has_faults = true;
}

static void pass_time(subject *it, uint8_t how, uint8_t much)
{
  clpt_chance chance = clpt_chance_seed(much);
  clp_stream stream = it->streams[pick_a_stream(much)];
  if (it->kind != SUBJECT_LATE)
    return;
  switch (how % 4) {
  case 0:
    for (int i = 0; i < much % 16; i++)
      (void)clpt_late_step_any(&it->device, &chance);
    break;
  case 1:
    clpt_late_run(&it->device, stream);
    break;
  case 2:
    clpt_late_finish(&it->device, stream);
    break;
  default:
    clpt_late_run_all(&it->device);
  }
}

static void call_pool(subject *it, uint8_t which, uint8_t choice, uint8_t byte)
{
  unsigned pool = choice % SUBJECT_POOLS;
  switch (which) {
  case 0:
    require_trimmed(it, clp_pool_free_held(it->pools[pool]));
    break;
  case 1:
    require_trimmed(it, clp_pool_trim_to(it->pools[pool], (size_t)byte << 7));
    break;
  case 2:
    fuzz_require(clp_pool_set_limit(it->pools[pool], (size_t)byte << 7) == CLP_SUCCESS);
    break;
  case 3:
    fuzz_require(clp_pool_reset_peaks(it->pools[pool]) == CLP_SUCCESS);
    break;
  case 4:
    check_bins(it, pool);
    break;
  case 5:
    call_hooks(it, pool, byte);
    break;
  case 6:
    end_hooks(it, pool);
    break;
  case 7:
    it->spares = byte % 4;
    break;
  case 8:
    stop_holding(it, pool);
    break;
  case 9:
    subject_replace_pool(it, pool);
    break;
  case 10:
    call_wrongly(it, pool, byte, choice);
    break;
  default:
    make_fail(it, choice, byte);
  }
}

/* --- programs --- */

/* The first byte says what is called, mostly something of a buffer; the others are arguments. */
static void call(subject *it, const uint8_t *bytes)
{
  unsigned slot = bytes[1] % SUBJECT_SLOTS, pool = bytes[1] / SUBJECT_SLOTS % SUBJECT_POOLS;
  switch (bytes[0] % 16) {
  case 0:
  case 1:
  case 2:
  case 3:
    if (it->slots[slot].buffer)
      subject_release(it, slot, pick_stream(it, bytes[2]));
    else
      subject_allocate(it, slot, pool, (size_t)(bytes[2] % 16) << bytes[2] / 16 % 10,
                       pick_stream(it, bytes[0] / 16));
    break;
  case 4:
  case 5:
    if (it->kind == SUBJECT_LATE)
      subject_write(it, slot, pick_a_stream(bytes[2]));
    break;
  case 6:
    subject_read(it, slot, pick_a_stream(bytes[2]));
    break;
  case 7:
    subject_bind(it, slot, pick_a_stream(bytes[2]));
    break;
  case 8:
    subject_unbind(it, slot);
    break;
  case 9:
    subject_replace_stream(it, pick_a_stream(bytes[2]));
    break;
  case 10:
  case 11:
    pass_time(it, bytes[1], bytes[2]);
    break;
  default:
    call_pool(it, bytes[0] / 16 % 12, bytes[1], bytes[2]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  subject it;
  size_t most = HEADER + CALL * MOST_CALLS;
  if (programs++ == 0)
    atexit(tell);
  if (length < HEADER)
    return 0;
  subject_begin(&it, input);
  for (size_t at = HEADER; at + CALL <= length && at < most; at += CALL, calls++) {
    call(&it, input + at);
    subject_check(&it);
  }
  subject_end(&it);
  return 0;
}
