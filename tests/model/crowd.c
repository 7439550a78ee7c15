/* SPDX-License-Identifier: MIT */
/* A program of the crowd, from its beginning to its end. */
#include "crowd.h"

#include "core/allocator/allocator.h"
#include "support/instrumented.h"
#include "support/suite.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One in so many steps of a member makes a call of another kind, and so on. */
enum {
  STEPS_PER_CALL = 24,
  STEPS_PER_HAND_OVER = 6,
  STEPS_PER_RELAY = 200,
  STEPS_PER_YIELD = 32, /* so that threads meet, also on one processor */
  CALLS_PER_YIELD = 4,  /* of the device */
  DEVICE_STEPS = 8,
  HANG_SECONDS = 20, /* of a child */
  FORKS = 8          /* in a program */
};

static size_t below(crowd_member *self, size_t bound)
{
  return (size_t)clpt_chance_below(&self->chance, bound);
}

/* What is wrong is also written at once, in case that another thread never comes back. */
void crowd_wrong(crowd *all, const char *format, ...)
{
  va_list arguments;
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* fprintf is a cancellation point */
  pthread_mutex_lock(&all->lock);
  if (!all->wrong[0]) {
    va_start(arguments, format);
    (void)vsnprintf(all->wrong, sizeof(all->wrong), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", all->wrong);
    atomic_store_explicit(&all->is_wrong, true, memory_order_relaxed);
  }
  pthread_mutex_unlock(&all->lock);
  pthread_setcancelstate(state, NULL);
}

static bool is_wrong(const crowd *all)
{
  return atomic_load_explicit(&all->is_wrong, memory_order_relaxed);
}

bool crowd_note_call(crowd *all, const char *call, clp_status status)
{
  bool is_planned = status == CLP_BACKEND_ERROR && all->plan.faults > 0 &&
                    !atomic_load_explicit(&all->is_sound, memory_order_relaxed);
  if (status && !is_planned)
    crowd_wrong(all, "%s: %s: %s", call, clp_status_name(status), clp_last_error()->message);
  return !status;
}

/* The library calls the program: cancellation is disabled, so this is no way out. */
static void come_out(const crowd *all)
{
  if (all->plan.cancels)
    pthread_testcancel();
}

/* --- the device: it counts, fails on purpose and lets other threads run, without a lock --- */

static clp_status begin_call(crowd *all)
{
  unsigned call = atomic_fetch_add_explicit(&all->device_calls, 1, memory_order_relaxed);
  come_out(all);
  if (all->plan.yields && call % CALLS_PER_YIELD == 0)
    (void)sched_yield();
  if (all->plan.faults == 0 || atomic_load_explicit(&all->is_sound, memory_order_relaxed) ||
      call % all->plan.faults != all->plan.faults - 1)
    return CLP_SUCCESS;
  return clp_set_last_error(CLP_BACKEND_ERROR, (int)call, "the device fails on purpose");
}

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  crowd *all = self;
  clp_status status = begin_call(all);
  if (!status)
    status = clp_allocator_allocate(all->upstream, bytes, out);
  if (status)
    return status;
  atomic_fetch_add_explicit(&all->live_blocks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&all->live_bytes, bytes, memory_order_relaxed);
  return CLP_SUCCESS;
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  crowd *all = self;
  clp_status status = begin_call(all);
  if (status)
    return status;
  atomic_fetch_sub_explicit(&all->live_blocks, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&all->live_bytes, bytes, memory_order_relaxed);
  return clp_allocator_free(all->upstream, memory, bytes);
}

static clp_allocator *start_counted(crowd *all)
{
  bool is_host = all->plan.backend == CROWD_HOST;
  clp_allocator *allocator = NULL;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "crowd-device";
  ops.allocate = device_allocate;
  ops.free = device_free;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  ops.memory_kind = is_host ? CLP_MEMORY_HOST : CLP_MEMORY_SIMULATED;
  ops.alignment = is_host ? 64 : 256;
  clpt_ok(is_host ? clp_host_allocator_create(0, &all->upstream)
                  : clp_simulated_allocator_create(all->plan.capacity, &all->upstream));
  clpt_ok(clp_allocator_create(&ops, all, &allocator));
  return allocator;
}

static void see_late_call(clpt_late_device *late, clpt_late_call call)
{
  const crowd *all = late->on_call_data;
  come_out(all);
  if (all->plan.yields)
    (void)sched_yield();
}

static clp_allocator *start_late(crowd *all)
{
  clpt_late_device *late = &all->late;
  clpt_late_init(late);
  clpt_late_set_freeing(late, (clpt_late_freeing)all->plan.freeing);
  late->capacity = all->plan.capacity;
  late->streams.reuse_addresses = true;
  late->marks_are_work = all->plan.seed % 4 == 0;
  late->on_call = see_late_call;
  late->on_call_data = all;
  if (all->plan.has_home)
    late->ops.home_stream = clpt_late_stream_new(late);
  return clpt_late_allocator(late);
}

static void end_device(crowd *all)
{
  const char *wrong = NULL;
  clp_allocator_release(all->allocator);
  clp_allocator_release(all->upstream);
  if (all->plan.backend == CROWD_LATE)
    wrong = clpt_late_find_wrong(&all->late);
  else if (all->live_blocks > 0 || all->live_bytes > 0)
    wrong = "the device has live blocks at the end";
  if (wrong)
    crowd_wrong(all, "%s", wrong);
  else if (all->plan.backend == CROWD_LATE)
    clpt_late_end(&all->late);
}

/* --- hooks --- */

static void see_begin(const clp_hook_event *event, void *pool)
{
  come_out(((crowd_pool *)pool)->all);
  atomic_fetch_add_explicit(&((crowd_pool *)pool)->open, 1, memory_order_relaxed);
}

#define SEE_END(name, field)                                                                       \
  static void see_end_of_##name(const clp_hook_event *event, void *pool)                           \
  {                                                                                                \
    crowd_pool *it = pool;                                                                         \
    atomic_fetch_sub_explicit(&it->open, 1, memory_order_relaxed);                                 \
    atomic_fetch_add_explicit(&it->seen_##name, event->field != 0, memory_order_relaxed);          \
  }
SEE_END(allocations, buffer_id)
SEE_END(releases, buffer_id)
SEE_END(device_allocations, memory)
SEE_END(device_frees, memory)

static void add_hook(crowd_pool *it)
{
  it->hook = (clp_hook){.struct_size = sizeof(clp_hook),
                        .name = "crowd",
                        .user_data = it,
                        .malloc_preprocess = see_begin,
                        .malloc_postprocess = see_end_of_allocations,
                        .alloc_preprocess = see_begin,
                        .alloc_postprocess = see_end_of_device_allocations,
                        .free_preprocess = see_begin,
                        .free_postprocess = see_end_of_releases,
                        .device_free_preprocess = see_begin,
                        .device_free_postprocess = see_end_of_device_frees};
  clpt_ok(clp_pool_add_hook(it->pool, &it->hook));
}

/* --- streams: a member orders its own, and leaves those of others alone where they may end --- */

static bool is_late(const crowd_member *self)
{
  return self->all->plan.backend == CROWD_LATE;
}

static clp_stream own_stream(crowd_member *self)
{
  return self->streams[below(self, self->all->plan.streams)];
}

/* The stream that the block's user gives its work to. */
static clp_stream user_of(crowd_member *self, const crowd_block *block)
{
  return block->stream ? block->stream : self->all->late.ops.home_stream;
}

/* The stream for a new block; NULL: none, or the home stream. */
static clp_stream pick_stream(crowd_member *self)
{
  if (!is_late(self) || (self->all->plan.has_home && below(self, 4) == 0))
    return NULL;
  return own_stream(self);
}

/* Another stream reads the block, or writes to it where the library makes it wait. */
static void share(crowd_member *self, crowd_block *block)
{
  clpt_late_device *late = &self->all->late;
  size_t way = below(self, 8);
  clp_stream other = own_stream(self);
  if (block->bytes > 0 && way == 0) {
    clpt_late_order(late, user_of(self, block), other);
    clpt_late_read(late, other, clp_buffer_memory(block->buffer));
    (void)crowd_note(self->all, clp_buffer_record_use(block->buffer, other));
  }
  if (block->bytes > 0 && way == 1 && block->stream) {
    (void)crowd_note(self->all, clp_buffer_bind(block->buffer, block->stream));
    (void)crowd_note(self->all, clp_buffer_bind(block->buffer, other));
    clpt_late_write(late, other, clp_buffer_memory(block->buffer));
    block->stream = NULL; /* it is released where it is bound */
  }
}

static void send(crowd_member *self, crowd_block *block)
{
  if (!is_late(self) || !crowd_has(self->all, CROWD_forget_stream))
    return;
  clpt_late_finish(&self->all->late, user_of(self, block));
  block->stream = NULL;
}

static void receive(crowd_member *self, crowd_block *block)
{
  clpt_late_device *late = &self->all->late;
  if (!is_late(self))
    return;
  clp_stream mine = own_stream(self);
  if (!crowd_has(self->all, CROWD_forget_stream))
    clpt_late_order(late, user_of(self, block), mine);
  block->stream = mine;
  if (block->bytes > 0) {
    clpt_late_read(late, mine, clp_buffer_memory(block->buffer));
    clpt_late_write(late, mine, clp_buffer_memory(block->buffer));
  }
}

/* --- blocks --- */

static size_t draw_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->all->plan;
  const clp_pool *pool = self->all->pools[0].pool;
  size_t most = plan->most_bytes, edge;
  if (plan->uses_zero && below(self, 16) == 0)
    return 0;
  switch (plan->sizes) {
  case CROWD_ONE_SIZE:
    return most;
  case CROWD_FEW_SIZES:
    return most >> below(self, 3);
  case CROWD_BIN_EDGES:
    edge = 1 + below(self, most);
    edge = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, edge));
    return edge + below(self, 3) - (edge > 1);
  default:
    return 1 + below(self, most);
  }
}

static unsigned char *content_of(const crowd_block *block)
{
  return (unsigned char *)clp_buffer_memory(block->buffer);
}

static bool has_changed(const crowd_block *block)
{
  const unsigned char *content = content_of(block);
  size_t capacity = clp_buffer_capacity(block->buffer);
  return content[0] != block->pattern || memcmp(content, content + 1, capacity - 1) != 0;
}

static void write_block(crowd_member *self, crowd_block *block)
{
  clpt_late_device *late = &self->all->late;
  size_t capacity = clp_buffer_capacity(block->buffer);
  if (clp_buffer_size(block->buffer) != block->bytes || capacity < block->bytes ||
      (clp_buffer_memory(block->buffer) == 0) != (block->bytes == 0))
    crowd_wrong(self->all, "a buffer of %zu bytes says that it has %zu of %zu", block->bytes,
                clp_buffer_size(block->buffer), capacity);
  if (block->bytes == 0)
    return;
  block->pattern = (unsigned char)(self->number + CROWD_THREADS * ++self->patterns);
  if (self->all->plan.backend == CROWD_HOST)
    memset(content_of(block), block->pattern, capacity);
  if (!is_late(self))
    return;
  clpt_late_write(late, user_of(self, block), clp_buffer_memory(block->buffer));
  if (below(self, 2) == 0)
    clpt_late_read(late, user_of(self, block), clp_buffer_memory(block->buffer));
}

static void add(atomic_size_t *count, size_t bytes, atomic_size_t *peak)
{
  size_t now = bytes + atomic_fetch_add_explicit(count, bytes, memory_order_relaxed);
  size_t before = atomic_load_explicit(peak, memory_order_relaxed);
  while (now > before && !atomic_compare_exchange_weak_explicit(
                             peak, &before, now, memory_order_relaxed, memory_order_relaxed))
    ;
}

static bool tries(crowd_member *self)
{
  return self->all->plan.uses_try && below(self, 4) > 0;
}

static clp_status allocate(crowd_member *self, clp_pool *pool, crowd_block *block)
{
  clp_stream stream = block->stream;
  if (tries(self) && (stream ? clp_pool_try_allocate_on(pool, block->bytes, stream, &block->buffer)
                             : clp_pool_try_allocate(pool, block->bytes, &block->buffer)))
    return CLP_SUCCESS;
  if (block->buffer)
    crowd_wrong(self->all, "try_allocate did not serve, and gave a buffer");
  return stream ? clp_pool_allocate_on(pool, block->bytes, stream, &block->buffer)
                : clp_pool_allocate(pool, block->bytes, &block->buffer);
}

/* A limit and a full device may refuse where the plan has them. */
static bool may_refuse(const crowd *all, clp_status status)
{
  if (status == CLP_LIMIT_EXCEEDED)
    return all->plan.limit > 0 || crowd_has(all, CROWD_set_limit);
  return status == CLP_OUT_OF_DEVICE_MEMORY && all->plan.capacity > 0;
}

/* The pool counts a block before the test does, and the test forgets it before the pool. */
static void take(crowd_member *self, clp_pool *pool, int number)
{
  crowd *all = self->all;
  crowd_block block = {.pool = number, .bytes = draw_bytes(self), .stream = pick_stream(self)};
  clp_status status = allocate(self, pool, &block);
  if (may_refuse(all, status) || !crowd_note_call(all, "allocate", status))
    return;
  if (number >= 0) {
    crowd_pool *it = &all->pools[number];
    add(&it->least_active, block.bytes, &it->least_peak_active);
    add(&it->least_capacity, clp_buffer_capacity(block.buffer), &it->least_peak_capacity);
    atomic_fetch_add_explicit(&it->allocations, 1, memory_order_relaxed);
  }
  write_block(self, &block);
  self->kept[self->count++] = block;
}

static clp_status release(crowd_member *self, const crowd_block *block)
{
  clp_stream stream = block->stream;
  if (tries(self) && (stream ? clp_buffer_try_release_on(block->buffer, stream)
                             : clp_buffer_try_release(block->buffer)))
    return CLP_SUCCESS;
  return stream ? clp_buffer_release_on(block->buffer, stream) : clp_buffer_release(block->buffer);
}

static void give(crowd_member *self, crowd_block *block)
{
  crowd *all = self->all;
  if (block->bytes > 0 && all->plan.backend == CROWD_HOST && has_changed(block))
    crowd_wrong(all, "a block of %zu bytes was overwritten", block->bytes);
  if (is_late(self))
    share(self, block);
  if (block->pool >= 0) {
    crowd_pool *it = &all->pools[block->pool];
    size_t capacity = clp_buffer_capacity(block->buffer);
    atomic_fetch_sub_explicit(&it->least_active, block->bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&it->least_capacity, capacity, memory_order_relaxed);
  }
  (void)crowd_note(all, release(self, block));
}

static crowd_block pull_out(crowd_member *self, size_t place)
{
  crowd_block block = self->kept[place];
  self->kept[place] = self->kept[--self->count];
  return block;
}

static bool give_any(crowd_member *self)
{
  if (self->count == 0)
    return false;
  crowd_block block = pull_out(self, below(self, self->count));
  give(self, &block);
  return true;
}

/* Puts `mine` into the mailbox, and releases what was there. */
static void exchange(crowd_member *self, size_t place, crowd_block *mine)
{
  crowd_block *found =
      atomic_exchange_explicit(&self->all->mailbox[place], mine, memory_order_acq_rel);
  if (!found)
    return;
  receive(self, found);
  give(self, found);
  free(found);
}

static void hand_over(crowd_member *self)
{
  size_t place = below(self, CROWD_MAILBOX);
  crowd_block *mine = malloc(sizeof(*mine));
  if (!mine)
    abort();
  *mine = pull_out(self, below(self, self->count));
  send(self, mine);
  exchange(self, place, mine);
}

/* --- forks: a child is refused its parent's pools, and pools of its own work --- */

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: a child: does not hold: %s (%s)\n", __FILE__, __LINE__, #condition,  \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

static void *use_own_pool(void *allocator)
{
  clp_buffer *buffer;
  clp_pool *pool;
  REQUIRE(!clp_pool_create(allocator, NULL, &pool));
  for (size_t bytes = 1; bytes < 65536; bytes *= 2) {
    REQUIRE(!clp_pool_allocate(pool, bytes, &buffer));
    REQUIRE(!clp_buffer_release(buffer));
  }
  clp_pool_release(pool);
  return NULL;
}

/* It gives the parent's pools up as a garbage collector does. */
static void be_child(crowd_member *self)
{
  crowd *all = self->all;
  clp_buffer *buffer = NULL;
  clp_allocator *own;
  pthread_t thread;
  signal(SIGALRM, SIG_DFL); /* Check has a handler */
  alarm(HANG_SECONDS);
  REQUIRE(!clp_simulated_allocator_create(0, &own));
  (void)use_own_pool(own);
  REQUIRE(pthread_create(&thread, NULL, use_own_pool, own) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  clp_allocator_release(own);
  for (size_t i = 0; i < self->count; i++)
    REQUIRE(!clp_buffer_release(self->kept[i].buffer));
  for (unsigned i = 0; i < all->plan.pools; i++) {
    REQUIRE(!clp_pool_try_allocate(all->pools[i].pool, 100, &buffer) && !buffer);
    clp_pool_release(all->pools[i].pool);
  }
  clp_allocator_release(all->allocator);
  pthread_exit(NULL);
}

/* Not under a sanitizer or valgrind: the child of a process with threads has what these keep for
 * themselves, such as the locks of their malloc, as it was at the fork, and may wait for ever. */
static clp_status fork_once(crowd_member *self)
{
  int status = 0;
  if (CLPT_SANITIZED || RUNNING_ON_VALGRIND || self->is_cancelled ||
      atomic_fetch_add(&self->all->forks, 1) >= FORKS)
    return CLP_SUCCESS; /* waitpid is a cancellation point */
  pid_t child = fork();
  if (child == 0)
    be_child(self);
  if (child < 0 || waitpid(child, &status, 0) != child || status)
    crowd_wrong(self->all, "a child of fork ended with status %d", status);
  return CLP_SUCCESS;
}

/* --- other calls --- */

static size_t some_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->all->plan;
  return below(self, plan->threads * plan->kept * plan->most_bytes);
}

static clp_status create_pool(crowd *all, clp_pool **pool)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  if (all->plan.hold)
    options.hold_bytes = all->plan.hold - 1;
  options.leading_bits_in_bin_id = (unsigned)all->plan.leading_bits;
  options.reuse_flags = (unsigned)all->plan.reuse_flags;
  return clp_pool_create(all->allocator, &options, pool);
}

static clp_status use_own(crowd_member *self)
{
  clp_pool *pool = NULL;
  clp_status status = create_pool(self->all, &pool);
  for (int i = 0; i < 6 && pool && self->count < self->all->plan.kept; i++)
    take(self, pool, -1);
  clp_pool_release(pool);
  return status;
}

/* Blocks that the stream was the last to use are released before, but its work goes on. */
static clp_status forget_stream(crowd_member *self)
{
  crowd *all = self->all;
  clp_stream *place = &self->streams[below(self, all->plan.streams)];
  for (size_t i = self->count; i-- > 0;)
    if (self->kept[i].stream == *place) {
      crowd_block block = pull_out(self, i);
      give(self, &block);
    }
  for (unsigned i = 0; i < all->plan.pools; i++)
    (void)crowd_note(all, clp_pool_forget_stream(all->pools[i].pool, *place));
  if (is_wrong(all))
    return CLP_SUCCESS;
  clpt_late_stream_destroy(&all->late, *place);
  *place = clpt_late_stream_new(&all->late);
  return CLP_SUCCESS;
}

/* clang-format off */
static clp_status call_on(crowd_member *self, crowd_pool *it, crowd_call call)
{
  switch (call) {
  case CROWD_get_stats: return crowd_check_at_work(self, it);
  case CROWD_free_held: return clp_pool_free_held(it->pool);
  case CROWD_trim_to: return clp_pool_trim_to(it->pool, some_bytes(self));
  case CROWD_set_limit:
    return clp_pool_set_limit(it->pool, below(self, 2) == 0 ? 0 : some_bytes(self));
  case CROWD_reset_peaks: return clp_pool_reset_peaks(it->pool);
  case CROWD_stop_holding:
    if (below(self, 50) > 0)
      return CLP_SUCCESS;
    atomic_store(&it->has_stopped_holding, true);
    return clp_pool_stop_holding(it->pool);
  case CROWD_own_pool: return use_own(self);
  case CROWD_fork: return fork_once(self);
  case CROWD_mark_stream: return clp_pool_mark_stream(it->pool, own_stream(self));
  case CROWD_forget_stream: return forget_stream(self);
  case CROWD_trim_idle: return clp_pool_trim_idle(it->pool, below(self, 3));
  default: return clp_free_all_held();
  }
}
/* clang-format on */

static void call_any(crowd_member *self)
{
  crowd *all = self->all;
  crowd_pool *pool = &all->pools[below(self, all->plan.pools)];
  crowd_call call;
  do {
    call = (crowd_call)below(self, CROWD_CALL_COUNT);
  } while (!crowd_has(all, call));
  (void)crowd_note(all, call_on(self, pool, call));
}

/* --- threads --- */

/* Blocks become more until a target is reached, then fewer until another one is: members hold few
 * and many blocks, and the peaks of all are now and then at once. In a wave they have all or none.
 */
static void use_blocks(crowd_member *self)
{
  crowd *all = self->all;
  size_t pool = below(self, all->plan.pools);
  if (self->count == self->target && all->plan.is_wave)
    self->target = self->target ? 0 : all->plan.kept;
  else if (self->count == self->target)
    self->target = below(self, all->plan.kept + 1);
  if (self->count < self->target)
    take(self, all->pools[pool].pool, (int)pool);
  else if (all->plan.hands_over && self->count > 0 && below(self, STEPS_PER_HAND_OVER) == 0)
    hand_over(self);
  else
    (void)give_any(self);
}

static void step(crowd_member *self)
{
  crowd *all = self->all;
  if (below(self, STEPS_PER_YIELD) == 0)
    (void)sched_yield();
  use_blocks(self);
  if (below(self, STEPS_PER_CALL) == 0)
    call_any(self);
  if (is_late(self))
    for (size_t i = below(self, DEVICE_STEPS); i > 0; i--)
      (void)clpt_late_step_any(&all->late, &self->chance);
}

/* A thread of a member ends with the member's steps, or before them; some do their last steps with
 * a cancellation pending, of which none is a cancellation point. */
static void *work(void *member)
{
  enum { CANCELLED_STEPS = 20 };
  crowd_member *self = member;
  const crowd_plan *plan = &self->all->plan;
  bool is_over = false;
  self->is_cancelled = false;
  for (; !is_over && self->steps_left > 0 && !is_wrong(self->all); self->steps_left--) {
    step(self);
    is_over = plan->relays && below(self, STEPS_PER_RELAY) == 0;
  }
  self->is_cancelled = is_over && plan->cancels && below(self, 2) == 0;
  if (!self->is_cancelled)
    return NULL;
  pthread_cancel(pthread_self());
  for (int i = 0; i < CANCELLED_STEPS; i++)
    step(self);
  pthread_testcancel();
  return NULL;
}

static void *be_member(void *member)
{
  crowd_member *self = member;
  while (self->steps_left > 0 && !is_wrong(self->all)) {
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, work, self) || pthread_join(thread, &result))
      crowd_wrong(self->all, "no thread could be made");
    else if ((result == PTHREAD_CANCELED) != self->is_cancelled)
      crowd_wrong(self->all, "a thread was not cancelled, or inside of a call");
  }
  return NULL;
}

static void run_phase(crowd *all)
{
  for (unsigned i = 0; i < all->plan.threads; i++) {
    all->members[i].steps_left = all->plan.steps;
    ck_assert(!pthread_create(&all->members[i].thread, NULL, be_member, &all->members[i]));
  }
  for (unsigned i = 0; i < all->plan.threads; i++)
    ck_assert(!pthread_join(all->members[i].thread, NULL));
  crowd_check_at_rest(all);
}

/* --- begin and end --- */

static void start(crowd *all, const crowd_plan *plan)
{
  memset(all, 0, sizeof(*all));
  all->plan = *plan;
  pthread_mutex_init(&all->lock, NULL);
  clp_allocator *bottom = plan->backend == CROWD_LATE ? start_late(all) : start_counted(all);
  all->allocator = bottom;
  if (plan->is_on_arena) {
    clpt_ok(clp_arena_allocator_create(bottom, NULL, &all->allocator));
    clp_allocator_release(bottom);
  }
  for (crowd_pool *it = all->pools; it < all->pools + plan->pools; it++) {
    it->all = all;
    clpt_ok(create_pool(all, &it->pool));
    clpt_ok(clp_pool_set_limit(it->pool, plan->limit));
    if (plan->has_hooks)
      add_hook(it);
  }
  for (unsigned i = 0; i < plan->threads; i++) {
    crowd_member *self = &all->members[i];
    self->all = all;
    self->number = i;
    self->chance = clpt_chance_seed((unsigned)plan->seed * CROWD_THREADS + i + 1);
    for (unsigned j = 0; j < plan->streams; j++)
      self->streams[j] = clpt_late_stream_new(&all->late);
  }
}

/* The main thread releases what the members have left, in their places. */
static void release_blocks(crowd *all)
{
  for (unsigned i = 0; i < all->plan.threads; i++)
    while (give_any(&all->members[i]))
      ;
  for (unsigned i = 0; i < CROWD_MAILBOX; i++)
    exchange(&all->members[0], i, NULL);
}

static void end_pools(crowd *all)
{
  for (unsigned i = 0; i < all->plan.pools; i++) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    (void)crowd_note(all, clp_pool_free_held(all->pools[i].pool));
    (void)crowd_note(all, clp_pool_get_stats(all->pools[i].pool, &stats));
    if (stats.managed_bytes != 0 ||
        (!all->plan.is_on_arena && stats.device_allocations != stats.device_frees))
      crowd_wrong(all, "%zu bytes are left in a pool without blocks", stats.managed_bytes);
    clp_pool_release(all->pools[i].pool);
  }
}

const char *crowd_run(const crowd_plan *plan)
{
  static void (*const ends[])(crowd *) = {release_blocks, crowd_check_at_rest, end_pools,
                                          end_device};
  static crowd all;
  start(&all, plan);
  for (unsigned i = 0; i < plan->phases && !is_wrong(&all); i++)
    run_phase(&all);
  atomic_store(&all.is_sound, true);
  /* What is wrong may keep what follows from ending. */
  for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !is_wrong(&all); i++)
    ends[i](&all);
  return is_wrong(&all) ? all.wrong : NULL;
}
