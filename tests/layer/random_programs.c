/* SPDX-License-Identifier: MIT */
/* Legal OpenCL programs, drawn by chance, that know nothing of clpool: buffers are made, filled,
 * copied, shared, parted and released without waiting, on several queues, some behind an event that
 * the program ends late; one or two hands do that, in turn or in two threads, in one context or in
 * one each. A hand knows what is in its buffers,
 * and waits only for what can end. A wrong word ends the process, a wait for nothing hangs it. It
 * prints a sum of all answers, which must be the same under a layer. Arguments: the first seed, how
 * many programs, how many of them at once. */
#include "support/chance.h"
#include "support/opencl_devices.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { BUFFERS = 10, QUEUES = 3, MOST_WORDS = 4096 };

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s, line %d: %s is false\n", __FILE__, __LINE__, #condition);                        \
      fflush(stdout);                                                                              \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* What the destructor callbacks of a buffer know. */
typedef struct watch {
  cl_event latest; /* behind the buffer's latest use; retained */
  atomic_int left; /* callbacks, and one for the program */
} watch;

typedef struct buffer {
  cl_mem mem;  /* NULL: none */
  cl_mem part; /* NULL: none */
  size_t words;
  cl_uint value;   /* of all words */
  cl_event latest; /* behind the latest use */
  bool is_gated;   /* that waits for the gate */
  unsigned references;
  watch *watched;
} buffer;

typedef struct queue {
  cl_command_queue handle;
  bool in_order;
  bool is_gated; /* something in it waits for the gate */
} queue;

typedef struct hand {
  clpt_chance chance;
  cl_context context; /* retained */
  cl_program code;
  cl_kernel kernel;
  cl_event gate; /* NULL: none, or it is open */
  bool has_gates;
  size_t queue_count;
  queue queues[QUEUES];
  buffer buffers[BUFFERS];
  atomic_uint callbacks; /* that are still to come */
  uint64_t sum;          /* of all answers */
} hand;

static cl_device_id random_device;

static size_t below(hand *self, size_t bound)
{
  return clpt_chance_below(&self->chance, bound);
}

/* --- the gate --- */

static void hand_open_gate(hand *self)
{
  if (!self->gate)
    return;
  require(!clSetUserEventStatus(self->gate, CL_COMPLETE));
  require(!clReleaseEvent(self->gate));
  self->gate = NULL;
  for (size_t i = 0; i < QUEUES; i++)
    self->queues[i].is_gated = false;
  for (size_t i = 0; i < BUFFERS; i++)
    self->buffers[i].is_gated = false;
}

static void hand_close_gate(hand *self, queue *on)
{
  if (!self->has_gates || self->gate)
    return;
  self->gate = clCreateUserEvent(self->context, NULL);
  require(self->gate);
  if (!on->in_order)
    return;
  require(!clEnqueueMarkerWithWaitList(on->handle, 1, &self->gate, NULL));
  on->is_gated = true;
}

/* --- use --- */

/* What a use of one or two buffers waits for. */
typedef struct waits {
  cl_uint count;
  cl_event list[3];
  bool is_gated;
} waits;

static waits waits_of(const hand *self, const queue *on, const buffer *one, const buffer *other,
                      bool for_gate)
{
  waits all = {.is_gated = on->is_gated || one->is_gated || (other && other->is_gated)};
  if (one->latest)
    all.list[all.count++] = one->latest;
  if (other && other->latest)
    all.list[all.count++] = other->latest;
  if (for_gate && self->gate) {
    all.list[all.count++] = self->gate;
    all.is_gated = true;
  }
  return all;
}

static const cl_event *list_of(const waits *all)
{
  return all->count ? all->list : NULL;
}

/* The event of a use of one or two buffers, in place of those before it. */
static void used(queue *on, buffer *one, buffer *other, cl_event event, bool is_gated)
{
  require(!clFlush(on->handle));
  on->is_gated |= is_gated;
  for (int i = 0; i < 2; i++) {
    buffer *it = i ? other : one;
    if (!it)
      continue;
    if (it->latest)
      require(!clReleaseEvent(it->latest));
    it->latest = event;
    it->is_gated = is_gated;
    require(!i || !clRetainEvent(event));
  }
}

static cl_event run_kernel(hand *self, const queue *on, const buffer *to, cl_uint value,
                           const waits *all)
{
  cl_event event;
  const cl_uint words = (cl_uint)to->words;
  const cl_uint spins = (cl_uint)below(self, 100000);
  const size_t one = 1;
  require(!clSetKernelArg(self->kernel, 0, sizeof(cl_mem), &to->mem));
  require(!clSetKernelArg(self->kernel, 1, sizeof(words), &words));
  require(!clSetKernelArg(self->kernel, 2, sizeof(value), &value));
  require(!clSetKernelArg(self->kernel, 3, sizeof(spins), &spins));
  require(!clEnqueueNDRangeKernel(on->handle, self->kernel, 1, NULL, &one, &one, all->count,
                                  list_of(all), &event));
  return event;
}

static void hand_fill(hand *self, queue *on, buffer *to)
{
  cl_event event;
  const cl_uint value = (cl_uint)clpt_chance_next(&self->chance);
  const waits all = waits_of(self, on, to, NULL, below(self, 4) == 0);
  if (below(self, 2))
    event = run_kernel(self, on, to, value, &all);
  else
    require(!clEnqueueFillBuffer(on->handle, to->mem, &value, sizeof(value), 0, 4 * to->words,
                                 all.count, list_of(&all), &event));
  to->value = value;
  used(on, to, NULL, event, all.is_gated);
}

typedef struct written {
  hand *of;
  cl_uint words[MOST_WORDS];
} written;

static void CL_CALLBACK free_written(cl_event event, cl_int progress, void *user_data)
{
  written *what = user_data;
  hand *of = what->of;
  (void)event;
  require(progress == CL_COMPLETE);
  free(what);
  atomic_fetch_sub(&of->callbacks, 1);
}

/* The words are there until they have been read. */
static void hand_write(hand *self, queue *on, buffer *to)
{
  cl_event event;
  written *what = malloc(sizeof(*what));
  require(what);
  const waits all = waits_of(self, on, to, NULL, below(self, 4) == 0);
  to->value = (cl_uint)clpt_chance_next(&self->chance);
  what->of = self;
  for (size_t i = 0; i < to->words; i++)
    what->words[i] = to->value;
  require(!clEnqueueWriteBuffer(on->handle, to->mem, CL_FALSE, 0, 4 * to->words, what->words,
                                all.count, list_of(&all), &event));
  atomic_fetch_add(&self->callbacks, 1);
  require(!clSetEventCallback(event, CL_COMPLETE, free_written, what));
  used(on, to, NULL, event, all.is_gated);
}

static void hand_copy(hand *self, queue *on, buffer *from, buffer *to)
{
  cl_event event;
  if (from == to || from->words < to->words)
    return;
  const waits all = waits_of(self, on, from, to, false);
  require(!clEnqueueCopyBuffer(on->handle, from->mem, to->mem, 0, 0, 4 * to->words, all.count,
                               list_of(&all), &event));
  to->value = from->value;
  used(on, from, to, event, all.is_gated);
}

static void hand_part(hand *self, queue *on, buffer *of)
{
  cl_event event;
  const cl_buffer_region first = {0, 4};
  if (!of->part)
    of->part = clCreateSubBuffer(of->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &first, NULL);
  require(of->part);
  const waits all = waits_of(self, on, of, NULL, false);
  require(!clEnqueueFillBuffer(on->handle, of->part, &of->value, 4, 0, 4, all.count, list_of(&all),
                               &event));
  used(on, of, NULL, event, all.is_gated);
}

/* --- answers --- */

static void check_words(const cl_uint *words, const buffer *of)
{
  for (size_t i = 0; i < of->words; i++)
    require(words[i] == of->value);
}

static void hand_check(hand *self, queue *on, buffer *of)
{
  cl_uint words[MOST_WORDS];
  if (of->is_gated || on->is_gated)
    hand_open_gate(self);
  if (below(self, 3)) {
    require(!clEnqueueReadBuffer(on->handle, of->mem, CL_TRUE, 0, 4 * of->words, words, 1,
                                 &of->latest, NULL));
    check_words(words, of);
    return;
  }
  cl_int code;
  cl_event event;
  void *mapped = clEnqueueMapBuffer(on->handle, of->mem, CL_TRUE, CL_MAP_READ, 0, 4 * of->words, 1,
                                    &of->latest, NULL, &code);
  require(mapped && !code);
  check_words(mapped, of);
  require(!clEnqueueUnmapMemObject(on->handle, of->mem, mapped, 0, NULL, &event));
  used(on, of, NULL, event, false);
}

static void note(hand *self, uint64_t answer)
{
  self->sum = (self->sum ^ answer) * UINT64_C(0x100000001b3);
}

static void hand_ask(hand *self, const buffer *of, const queue *on)
{
  size_t bytes = 0;
  cl_uint count = 0;
  cl_mem_flags flags = 0;
  cl_int code;
  const cl_buffer_region beyond = {0, 4 * of->words + 4};
  require(!clGetMemObjectInfo(of->mem, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL));
  require(bytes == 4 * of->words);
  require(!clGetMemObjectInfo(of->mem, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
  note(self, flags);
  require(!clGetCommandQueueInfo(on->handle, CL_QUEUE_CONTEXT, 0, NULL, &bytes));
  note(self, bytes);
  if (!of->part && !of->is_gated) {
    require(!clWaitForEvents(1, &of->latest));
    require(!clGetMemObjectInfo(of->mem, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL));
  }
  note(self, of->references);
  cl_uint words[2] = {0};
  note(self, (uint64_t)clEnqueueReadBuffer(on->handle, of->mem, CL_FALSE, 4 * of->words, 4, words,
                                           0, NULL, NULL));
  note(self, (uint64_t)clEnqueueFillBuffer(on->handle, of->mem, words, 4, 4 * of->words - 4, 8, 0,
                                           NULL, NULL));
  /* NVIDIA's driver takes such a part. */
  cl_mem part = clCreateSubBuffer(of->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &beyond, &code);
  require(part ? !clReleaseMemObject(part) : code == CL_INVALID_VALUE);
  require(!clCreateBuffer(self->context, 0, 0, NULL, &code));
  note(self, (uint64_t)code);
}

enum { CALLBACKS = 3 };

/* --- memory that a hand gives --- */

typedef struct host_words {
  hand *of;
  cl_uint words[MOST_WORDS] __attribute__((aligned(128)));
} host_words;

static void CL_CALLBACK free_host_words(cl_mem mem, void *user_data)
{
  host_words *host = user_data;
  hand *of = host->of;
  (void)mem;
  free(host);
  atomic_fetch_sub(&of->callbacks, 1);
}

/* A buffer that has its words from the start: copied, or the hand's own memory. */
static void make_on_host(hand *self, buffer *out)
{
  cl_int code;
  const bool is_copied = below(self, 2);
  host_words *host = aligned_alloc(128, sizeof(*host));
  require(host);
  host->of = self;
  out->value = (cl_uint)clpt_chance_next(&self->chance);
  for (size_t i = 0; i < out->words; i++)
    host->words[i] = out->value;
  out->mem = clCreateBuffer(self->context, is_copied ? CL_MEM_COPY_HOST_PTR : CL_MEM_USE_HOST_PTR,
                            4 * out->words, host->words, &code);
  require(out->mem && !code);
  if (is_copied) {
    free(host);
    return;
  }
  atomic_fetch_add(&self->callbacks, 1);
  require(!clSetMemObjectDestructorCallback(out->mem, free_host_words, host));
}

static void hand_make(hand *self, buffer *out)
{
  cl_int code;
  const cl_mem_flags flags = below(self, 3) ? CL_MEM_READ_WRITE : CL_MEM_ALLOC_HOST_PTR;
  static const size_t words[] = {1, 1000, 1003, MOST_WORDS}; /* two share a block's size */
  queue *on = &self->queues[below(self, self->queue_count)];
  *out = (buffer){.words = words[below(self, 4)], .references = 1};
  if (below(self, 10) == 0) {
    make_on_host(self, out);
    hand_part(self, on, out); /* each has a use */
    return;
  }
  out->mem = clCreateBuffer(self->context, flags, 4 * out->words, NULL, &code);
  require(out->mem && !code);
  if (below(self, 4))
    hand_fill(self, on, out);
  else
    hand_write(self, on, out);
}

/* --- references --- */

static void hand_share(hand *self, buffer *of)
{
  if (below(self, 2)) {
    require(!clRetainMemObject(of->mem));
    of->references++;
  } else if (of->references > 1) {
    require(!clReleaseMemObject(of->mem));
    of->references--;
  }
}

/* --- callbacks at a buffer's end --- */

static void drop_watch(watch *of)
{
  if (atomic_fetch_sub(&of->left, 1) > 1)
    return;
  require(!clReleaseEvent(of->latest));
  free(of);
}

/* NVIDIA's driver calls back once the last reference goes, whatever work is left. */
static bool calls_early(void)
{
  enum { NVIDIA = 0x10de };
  cl_uint vendor = 0;
  require(!clGetDeviceInfo(random_device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor, NULL));
  return vendor == NVIDIA;
}

static void CL_CALLBACK ended(cl_mem mem, void *user_data)
{
  (void)mem;
  watch *of = user_data;
  cl_int progress = CL_QUEUED;
  require(!clGetEventInfo(of->latest, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress),
                          &progress, NULL));
  require(progress == CL_COMPLETE || calls_early());
  drop_watch(of);
}

static void hand_watch(buffer *of)
{
  if (of->watched)
    return;
  of->watched = calloc(1, sizeof(*of->watched));
  require(of->watched);
  of->watched->left = CALLBACKS + 1;
  for (int i = 0; i < CALLBACKS; i++)
    require(!clSetMemObjectDestructorCallback(of->mem, ended, of->watched));
}

/* They come once the buffer's work is done, whatever is done later. */
static void await_callbacks(const buffer *of)
{
  if (!of->is_gated) {
    require(!clWaitForEvents(1, &of->latest));
    while (atomic_load(&of->watched->left) > 1)
      sched_yield();
  }
  drop_watch(of->watched);
}

/* --- the end --- */

static void release_all(const buffer *of)
{
  for (unsigned i = 0; i < of->references; i++)
    require(!clReleaseMemObject(of->mem));
  if (of->part)
    require(!clReleaseMemObject(of->part));
}

typedef struct late_release {
  hand *by;
  buffer of;
} late_release;

static void CL_CALLBACK release_late(cl_event event, cl_int progress, void *user_data)
{
  late_release *what = user_data;
  hand *by = what->by;
  (void)event;
  require(progress == CL_COMPLETE);
  release_all(&what->of);
  free(what);
  atomic_fetch_sub(&by->callbacks, 1);
}

static void release_behind(hand *self, const buffer *of)
{
  late_release *what = malloc(sizeof(*what));
  require(what);
  *what = (late_release){self, *of};
  atomic_fetch_add(&self->callbacks, 1);
  require(!clSetEventCallback(of->latest, CL_COMPLETE, release_late, what));
}

static void hand_end_buffer(hand *self, buffer *of)
{
  if (of->watched) { /* the callbacks may come from here on */
    require(!clRetainEvent(of->latest));
    of->watched->latest = of->latest;
  }
  if (!of->watched && below(self, 8) == 0)
    release_behind(self, of);
  else
    release_all(of);
  if (of->watched)
    await_callbacks(of);
  require(!clReleaseEvent(of->latest));
  *of = (buffer){0};
}

/* Takes a while, so that buffers are released before it is done. */
static const char source[] = "kernel void fill(global uint *words, uint count, uint value,\n"
                             "                 uint spins)\n"
                             "{\n"
                             "  uint x = value;\n"
                             "  for (uint i = 0; i < spins; i++)\n"
                             "    x = x * 1664525u + 1013904223u + (x >> 7);\n"
                             "  for (uint i = 0; i < count; i++)\n"
                             "    words[i] = value + (x == 7u && spins == 7u);\n"
                             "}\n";

static struct {
  size_t bytes;
  unsigned char *code;
} compiled;

static void hand_compile(void)
{
  const char *text = source;
  cl_context context = clCreateContext(NULL, 1, &random_device, NULL, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
  require(program && !clBuildProgram(program, 1, &random_device, "", NULL, NULL));
  require(!clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(compiled.bytes),
                            &compiled.bytes, NULL));
  compiled.code = malloc(compiled.bytes);
  require(compiled.code && !clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(compiled.code),
                                             &compiled.code, NULL));
  require(!clReleaseProgram(program) && !clReleaseContext(context));
}

/* --- begin --- */

static void open_queue(hand *self, queue *out)
{
  out->in_order = below(self, 3) > 0;
  out->is_gated = false;
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, out->in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  out->handle = clCreateCommandQueueWithProperties(self->context, random_device, properties, NULL);
  require(out->handle);
}

static hand *hand_begin(unsigned seed, cl_context context)
{
  hand *self = calloc(1, sizeof(*self));
  require(self && !clRetainContext(context));
  self->chance = clpt_chance_seed(seed);
  self->context = context;
  const unsigned char *code = compiled.code;
  self->code =
      clCreateProgramWithBinary(context, 1, &random_device, &compiled.bytes, &code, NULL, NULL);
  require(self->code && !clBuildProgram(self->code, 1, &random_device, "", NULL, NULL));
  self->kernel = clCreateKernel(self->code, "fill", NULL);
  require(self->kernel);
  self->has_gates = below(self, 2);
  self->queue_count = 1;
  open_queue(self, &self->queues[0]);
  return self;
}

/* --- steps --- */

/* Waits for a queue of whose work nothing waits for the gate. */
static void finish(const queue *on)
{
  if (!on->is_gated)
    require(!clFinish(on->handle));
}

/* The work of the one that goes may be pending. */
static void replace_queue(hand *self, queue *on)
{
  require(!clReleaseCommandQueue(on->handle));
  open_queue(self, on);
}

static void step_queues(hand *self, size_t what, queue *on)
{
  if (what == 0 && self->queue_count < QUEUES)
    open_queue(self, &self->queues[self->queue_count++]);
  else if (what == 1)
    hand_close_gate(self, on);
  else if (what == 2)
    finish(on);
  else if (what == 3)
    hand_open_gate(self);
  else if (what == 4)
    replace_queue(self, on);
}

static void hand_step(hand *self)
{
  queue *on = &self->queues[below(self, self->queue_count)];
  buffer *one = &self->buffers[below(self, BUFFERS)];
  buffer *other = &self->buffers[below(self, BUFFERS)];
  const size_t what = below(self, 44);
  if (what < 5)
    step_queues(self, what, on);
  else if (!one->mem)
    hand_make(self, one);
  else if (what < 17)
    hand_end_buffer(self, one);
  else if (what < 23)
    hand_fill(self, on, one);
  else if (what < 25)
    hand_write(self, on, one);
  else if (what < 29 && other->mem)
    hand_copy(self, on, one, other);
  else if (what < 32)
    hand_part(self, on, one);
  else if (what < 35)
    hand_share(self, one);
  else if (what < 36)
    hand_watch(one);
  else if (what < 38)
    hand_ask(self, one, on);
  else
    hand_check(self, on, one);
}

/* --- end --- */

static void end_buffers(hand *self)
{
  for (size_t i = 0; i < BUFFERS; i++)
    if (self->buffers[i].mem)
      hand_end_buffer(self, &self->buffers[i]);
}

static void end_queues(hand *self)
{
  for (size_t i = 0; i < self->queue_count; i++)
    require(!clReleaseCommandQueue(self->queues[i].handle));
}

static uint64_t hand_end(hand *self)
{
  const size_t order = below(self, 4);
  hand_open_gate(self);
  require(!clReleaseKernel(self->kernel) && !clReleaseProgram(self->code));
  if (order == 0)
    end_buffers(self);
  if (order == 1)
    require(!clReleaseContext(self->context));
  if (order == 2)
    end_queues(self);
  if (order != 0)
    end_buffers(self);
  if (order != 1)
    require(!clReleaseContext(self->context));
  if (order != 2)
    end_queues(self);
  while (atomic_load(&self->callbacks) > 0)
    sched_yield();
  const uint64_t sum = self->sum;
  free(self);
  return sum;
}

enum { SKIPPED = 77, STEPS = 400, HANDS = 2 };

/* --- a program --- */

typedef struct program {
  size_t hand_count;
  hand *hands[HANDS];
  uint64_t sums[HANDS];
} program;

static cl_context open_context(void)
{
  cl_context context = clCreateContext(NULL, 1, &random_device, NULL, NULL, NULL);
  require(context);
  return context;
}

/* The hands' references alone keep the contexts. */
static void begin(program *self, clpt_chance *chance)
{
  cl_context context = open_context();
  const bool is_shared = clpt_chance_below(chance, 2);
  self->hand_count = 1 + (clpt_chance_below(chance, 3) == 0);
  for (size_t i = 0; i < self->hand_count; i++) {
    if (i > 0 && !is_shared) {
      require(!clReleaseContext(context));
      context = open_context();
    }
    self->hands[i] = hand_begin((unsigned)clpt_chance_next(chance), context);
  }
  require(!clReleaseContext(context));
}

static void *act_alone(void *argument)
{
  hand *self = argument;
  for (size_t i = 0; i < STEPS / HANDS; i++)
    hand_step(self);
  return (void *)(uintptr_t)hand_end(self); /* what a pointer holds of it */
}

static uint64_t act_at_once(const program *self)
{
  pthread_t threads[HANDS];
  uint64_t sum = 0;
  for (size_t i = 0; i < self->hand_count; i++)
    require(!pthread_create(&threads[i], NULL, act_alone, self->hands[i]));
  for (size_t i = 0; i < self->hand_count; i++) {
    void *answer;
    require(!pthread_join(threads[i], &answer));
    sum += (uintptr_t)answer;
  }
  return sum;
}

static uint64_t act_in_turn(const program *self)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < STEPS; i++)
    hand_step(self->hands[i % self->hand_count]);
  for (size_t i = 0; i < self->hand_count; i++)
    sum += hand_end(self->hands[i]);
  return sum;
}

static uint64_t run(unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  program self = {0};
  begin(&self, &chance);
  return self.hand_count > 1 && clpt_chance_below(&chance, 2) ? act_at_once(&self)
                                                              : act_in_turn(&self);
}

/* --- many --- */

typedef struct crowd {
  unsigned first, count;
  atomic_uint next;
  _Atomic(uint64_t) sum;
} crowd;

static void *run_some(void *argument)
{
  crowd *of = argument;
  for (unsigned i; (i = atomic_fetch_add(&of->next, 1)) < of->count;)
    atomic_fetch_add(&of->sum, run(of->first + i));
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t threads[16];
  if (clpt_find_devices(1, &random_device) == 0)
    return SKIPPED;
  hand_compile();
  crowd all = {.first = argc > 1 ? (unsigned)atoi(argv[1]) : 1,
               .count = argc > 2 ? (unsigned)atoi(argv[2]) : 10};
  size_t count = argc > 3 ? (size_t)atoi(argv[3]) : 1;
  count = count > 16 ? 16 : count;
  for (size_t i = 0; i < count; i++)
    require(!pthread_create(&threads[i], NULL, run_some, &all));
  for (size_t i = 0; i < count; i++)
    require(!pthread_join(threads[i], NULL));
  printf("%u programs, sum %016llx\n", all.count, (unsigned long long)all.sum);
  return EXIT_SUCCESS;
}
