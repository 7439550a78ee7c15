/* SPDX-License-Identifier: MIT */
/* Runs a random program: makes the device and the pools, makes its calls, ends everything. */
#include "model.h"

#include <clpool/arena.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void (*model_in_library)(bool is_inside);
void (*model_outside)(bool is_outside);
model_failure_note *model_failure;
bool model_checks_all;

void model_fail(const model *it, const char *file, int line, const char *what)
{
  if (model_in_library)
    model_in_library(false);
  if (model_failure) {
    (void)snprintf(model_failure->text, MODEL_FAILURE_BYTES, "%s", what);
    model_failure->at = it->at;
  }
  (void)fprintf(stderr, "%s:%d: at call %zu of %zu: %s\n", file, line, it->at + 1,
                it->program->count, what);
  abort();
}

bool model_may_have_failed(const model *it)
{
  return it->device.faults != it->faults_before || it->config->nth_host > 0;
}

void model_require_success(const model *it, clp_status status)
{
  bool is_device = status == CLP_BACKEND_ERROR && it->device.faults != it->faults_before;
  bool is_host = status == CLP_OUT_OF_HOST_MEMORY && it->config->nth_host > 0;
  const clp_error *last = clp_last_error();
  if (status && !is_device && !is_host)
    model_fail(it, "a call", 0, last->message);
  REQUIRE(!status || (last->status == status && last->message[0]));
}

/* The program at work. */
static model *running;

/* The library holds no lock then: its pools answer. */
static void ask_pools(const model *it)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  for (unsigned pool = 0; it && pool < it->pool_count; pool++)
    if (it->pools[pool].pool)
      REQUIRE(!clp_pool_get_stats(it->pools[pool].pool, &stats));
}

void model_set_outside(bool is_outside)
{
  if (model_outside)
    model_outside(is_outside);
  if (is_outside)
    ask_pools(running);
}

/* --- begin --- */

/* While the library naps, each stream does a piece of its work. */
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  model_set_outside(true);
  for (int i = 0; running && running->has_streams && i < MODEL_STREAMS; i++)
    (void)clpt_late_step(&running->device, running->streams[i]);
  model_set_outside(false);
  return 0;
}

static void begin_streams(model *it)
{
  const model_config *config = it->config;
  clpt_late_device *device = &it->device;
  clpt_late_set_freeing(device, (clpt_late_freeing)config->freeing);
  device->streams.reuse_addresses = config->reuse_addresses;
  device->marks_are_work = config->marks_are_work;
  for (int i = 0; i < MODEL_STREAMS; i++)
    it->streams[i] = clpt_late_stream_new(device);
  device->ops.exclusive_parts = config->exclusive_parts;
  device->ops.home_stream = config->has_home ? it->streams[0] : NULL;
  device->ops.allocate_uses_home = config->has_home && config->allocate_uses_home;
  if (config->no_drain)
    device->ops.drain = NULL;
}

unsigned model_failing_calls(bool is_memory)
{
  unsigned never = 1u << CLPT_LATE_STREAM_RELEASE | 1u << CLPT_LATE_MARK_RELEASE;
  unsigned memory = 1u << CLPT_LATE_ALLOCATE | 1u << CLPT_LATE_SPLIT;
  return is_memory ? memory : ((1u << CLPT_LATE_CALLS) - 1) & ~never;
}

static void begin_device(model *it)
{
  const model_config *config = it->config;
  clpt_late_device *device = &it->device;
  clpt_late_init(device);
  device->capacity = config->capacity;
  device->defect = (clpt_late_defect)config->defect;
  device->opaque = config->opaque;
  device->outside = model_set_outside;
  if (config->nth_device) {
    device->failing = model_failing_calls(config->nth_is_memory);
    device->fault =
        (clpt_fault){.after = (unsigned)config->nth_device - 1,
                     .count = config->nth_stays ? UINT_MAX : 1,
                     .status = config->nth_is_memory ? CLP_OUT_OF_DEVICE_MEMORY : CLP_BACKEND_ERROR,
                     .native_code = 7,
                     .message = "on purpose"};
  }
  device->ops.max_block_bytes = config->max_block_bytes;
  device->ops.memory_kind = config->opaque ? CLP_MEMORY_CL_MEM : CLP_MEMORY_HOST;
  if (it->has_streams)
    begin_streams(it);
  else
    clpt_late_without_streams(device);
  if (config->addresses)
    clpt_late_set_addresses(device);
}

static clp_status create_upstream(model *it, clp_allocator **out)
{
  switch (it->config->device) {
  case MODEL_HOST:
    return LIB(clp_host_allocator_create(0, out));
  case MODEL_SIMULATED:
    return LIB(clp_simulated_allocator_create(it->config->capacity, out));
  default:
    return LIB(clp_allocator_create(&it->device.ops, &it->device, out));
  }
}

/* Creation may fail once for lack of host memory. A second try succeeds. */
static bool is_made(model *it, clp_status status)
{
  model_require_success(it, status);
  return !status;
}

static void begin_arena(model *it)
{
  const model_config *config = it->config;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *upstream = it->allocator;
  options.slack = (double)config->slack_percent / 100;
  options.min_segment_bytes = config->min_segment_bytes;
  options.max_segment_bytes = config->max_segment_bytes;
  options.one_thread = config->one_thread;
  while (!is_made(it, LIB(clp_arena_allocator_create(upstream, &options, &it->allocator))))
    ;
  LIB((clp_allocator_release(upstream), 0));
  clp_status status = LIB(clp_arena_reserve(it->allocator, config->reserve_bytes));
  REQUIRE(!status || it->can_run_out || it->may_fail);
  it->reserve_bytes = status ? 0 : config->reserve_bytes;
  if (config->one_thread) /* promised, so that parts may overlap those that streams still use */
    it->device.ops.exclusive_parts = false;
}

/* The environment is the process's: only pools that are made meanwhile see the limit. */
static void set_memory_limit(unsigned long bytes)
{
  char text[32];
  (void)snprintf(text, sizeof(text), "%lu", bytes);
  int failed = bytes ? setenv("CLPOOL_MEMORY_LIMIT", text, 1) : unsetenv("CLPOOL_MEMORY_LIMIT");
  if (failed)
    abort();
}

void model_make_pool(model *it, unsigned pool)
{
  const model_config *config = it->config;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  unsigned generation = it->pools[pool].generation;
  options.reuse_flags = (config->no_opportunistic ? 0u : CLP_REUSE_OPPORTUNISTIC) |
                        (config->no_dependencies ? 0u : CLP_REUSE_INTERNAL_DEPENDENCIES);
  options.leading_bits_in_bin_id = (unsigned)config->bits;
  options.on_out_of_memory = model_release_some;
  options.user_data = it;
  it->pools[pool] = (model_pool){.generation = generation};
  it->can_run_out = it->can_run_out || config->memory_limit > 0;
  set_memory_limit(config->memory_limit);
  while (!is_made(it, LIB(clp_pool_create(it->allocator, &options, &it->pools[pool].pool))))
    ;
  set_memory_limit(0);
  REQUIRE(clp_pool_get_limit(it->pools[pool].pool) == config->memory_limit);
  if (config->watched)
    model_hook_watch(it, pool);
}

void model_end_pool(model *it, unsigned pool)
{
  clp_pool *ending = it->pools[pool].pool;
  model_held_drop(it, pool);
  it->pools[pool].generation++;
  it->pools[pool].pool = NULL;
  LIB((clp_pool_release(ending), 0));
}

/* Memory is lost only where the device does not take it back, and the log says so. That of a
 * released buffer stays with its pool. */
static void note_loss(clp_log_level level, const char *message, void *user_data)
{
  model *it = user_data;
  if (level == CLP_LOG_ERROR && !it->may_fail)
    model_fail(it, "the log", 0, message);
  bool stays = strstr(message, "was released, but");
  it->stays += stays;
  it->losses += level == CLP_LOG_ERROR && !stays;
}

static void begin(model *it, const model_program *program)
{
  memset(it, 0, sizeof(*it));
  it->program = program;
  it->config = &program->config;
  it->pool_count = 1 + (unsigned)it->config->pools % MODEL_POOLS;
  for (unsigned slot = 0; slot < MODEL_SLOTS; slot++)
    it->slots[slot].pattern = (unsigned char)slot;
  it->has_streams = it->config->device == MODEL_LATE;
  it->is_fake = it->has_streams || it->config->device == MODEL_PLAIN;
  it->can_run_out = it->config->capacity > 0;
  it->may_fail = it->config->nth_device > 0 || it->config->nth_host > 0;
  running = NULL;
  clp_set_log(note_loss, it);
  if (it->is_fake)
    begin_device(it);
  model_hooks_begin(it);
  model_held_begin(it);
  while (!is_made(it, create_upstream(it, &it->allocator)))
    ;
  if (it->config->arena)
    begin_arena(it);
  running = it;
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    model_make_pool(it, pool);
}

/* --- end --- */

static void end_pools(model *it)
{
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    model_end_pool(it, pool);
}

static void release_all(model *it)
{
  for (unsigned slot = 0; slot < MODEL_SLOTS; slot++)
    model_do_release(it, &(model_call){.slot = slot, .stream = -1});
}

/* In the end all memory, marks and streams are back at the device, which found nothing wrong. */
static void end(model *it)
{
  it->device.failing = 0;
  model_hooks_end(it, -1);
  if (it->config->ends_early)
    end_pools(it);
  release_all(it);
  if (!it->config->ends_early)
    end_pools(it);
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  if (it->config->arena)
    REQUIRE(!clp_arena_get_stats(it->allocator, &stats));
  it->repeated = stats.repeated_blocks;
  LIB((clp_allocator_release(it->allocator), 0));
  running = NULL;
  clp_set_log(NULL, NULL);
  if (!it->is_fake)
    return;
  const char *wrong = clpt_late_find_wrong(&it->device);
  bool is_wrong = it->device.wrong[0] && !it->config->arena; /* an arena's lost parts stay */
  if (wrong && (is_wrong || !it->losses))
    model_fail(it, "the device at the end", 0, wrong);
  clpt_late_end(&it->device);
}

void model_run(model *it, const model_program *program)
{
  begin(it, program);
  for (; it->at < program->count; it->at++) {
    model_call call = program->calls[it->at];
    call.pool %= call.verb == MODEL_fail ? MODEL_POOLS : it->pool_count;
    it->faults_before = it->device.faults;
    model_make_call(it, &call);
    model_check(it);
  }
  end(it);
}
