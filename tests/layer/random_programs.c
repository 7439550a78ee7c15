/* SPDX-License-Identifier: MIT */
/* Legal OpenCL programs, drawn by chance, that know nothing of clpool: buffers are made, filled,
 * copied, shared, parted and released without waiting, on several queues, some behind an event that
 * the program ends late. It knows what is in its buffers, and waits only for what can end: a wrong
 * word ends the process, a wait for nothing hangs it. It prints a sum of all answers, which must be
 * the same under a layer. Arguments: the first seed, how many programs, how many threads at once.
 */
#include "support/chance.h"

#include <CL/cl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, BUFFERS = 10, QUEUES = 3, STEPS = 400, MOST_WORDS = 4096, CALLBACKS = 3 };

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: %s is false\n", __LINE__, #condition);                                      \
      fflush(stdout);                                                                              \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

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

typedef struct program {
  clpt_chance chance;
  cl_context context;
  cl_program code;
  cl_kernel kernel;
  cl_event gate; /* NULL: none, or it is open */
  bool has_gates;
  size_t queue_count;
  queue queues[QUEUES];
  buffer buffers[BUFFERS];
  uint64_t sum;
} program;

static cl_device_id device;

static size_t below(program *self, size_t bound)
{
  return clpt_chance_below(&self->chance, bound);
}

static void note(program *self, uint64_t answer)
{
  self->sum = (self->sum ^ answer) * UINT64_C(0x100000001b3);
}

/* --- the gate --- */

static void open_gate(program *self)
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

/* All work of a queue waits for it from now on, if it is in order; else what names it. */
static void close_gate(program *self, queue *on)
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

/* The event of a use of one or two buffers, in place of those before it. */
static void used(buffer *one, buffer *other, cl_event event, bool is_gated)
{
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

/* What a use of one or two buffers waits for. */
static cl_uint waits(const program *self, const buffer *one, const buffer *other, bool for_gate,
                     cl_event list[3])
{
  cl_uint count = 0;
  if (one->latest)
    list[count++] = one->latest;
  if (other && other->latest)
    list[count++] = other->latest;
  if (for_gate && self->gate)
    list[count++] = self->gate;
  return count;
}

static bool will_be_gated(const queue *on, const buffer *one, const buffer *other, bool for_gate)
{
  return on->is_gated || one->is_gated || (other && other->is_gated) || for_gate;
}

static void fill(program *self, queue *on, buffer *to)
{
  cl_event list[3];
  cl_event event;
  const cl_uint value = (cl_uint)clpt_chance_next(&self->chance);
  const bool for_gate = self->gate && below(self, 4) == 0;
  const bool is_gated = will_be_gated(on, to, NULL, for_gate);
  const cl_uint count = waits(self, to, NULL, for_gate, list);
  if (below(self, 2)) {
    const cl_uint words = (cl_uint)to->words;
    const cl_uint spins = (cl_uint)below(self, 100000);
    const size_t one = 1;
    require(!clSetKernelArg(self->kernel, 0, sizeof(cl_mem), &to->mem));
    require(!clSetKernelArg(self->kernel, 1, sizeof(words), &words));
    require(!clSetKernelArg(self->kernel, 2, sizeof(value), &value));
    require(!clSetKernelArg(self->kernel, 3, sizeof(spins), &spins));
    require(!clEnqueueNDRangeKernel(on->handle, self->kernel, 1, NULL, &one, &one, count,
                                    count ? list : NULL, &event));
  } else {
    require(!clEnqueueFillBuffer(on->handle, to->mem, &value, sizeof(value), 0, 4 * to->words,
                                 count, count ? list : NULL, &event));
  }
  require(!clFlush(on->handle));
  on->is_gated |= is_gated;
  to->value = value;
  used(to, NULL, event, is_gated);
}

static void copy(program *self, queue *on, buffer *from, buffer *to)
{
  cl_event list[3];
  cl_event event;
  if (from == to || from->words < to->words)
    return;
  const bool is_gated = will_be_gated(on, from, to, false);
  const cl_uint count = waits(self, from, to, false, list);
  require(!clEnqueueCopyBuffer(on->handle, from->mem, to->mem, 0, 0, 4 * to->words, count,
                               count ? list : NULL, &event));
  require(!clFlush(on->handle));
  on->is_gated |= is_gated;
  to->value = from->value;
  used(from, to, event, is_gated);
}

static void check_words(const cl_uint *words, const buffer *of)
{
  for (size_t i = 0; i < of->words; i++)
    require(words[i] == of->value);
}

static void check(program *self, queue *on, buffer *of)
{
  cl_uint words[MOST_WORDS];
  if (of->is_gated || on->is_gated)
    open_gate(self);
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
  require(!clFlush(on->handle));
  used(of, NULL, event, false);
}

/* Waits for a queue of whose work nothing waits for the gate. */
static void finish(queue *on)
{
  if (!on->is_gated)
    require(!clFinish(on->handle));
}

/* --- life --- */

static void drop_watch(watch *of)
{
  if (atomic_fetch_sub(&of->left, 1) > 1)
    return;
  require(!clReleaseEvent(of->latest));
  free(of);
}

static void CL_CALLBACK ended(cl_mem mem, void *user_data)
{
  (void)mem;
  watch *of = user_data;
  cl_int progress = CL_QUEUED;
  require(!clGetEventInfo(of->latest, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress),
                          &progress, NULL));
  require(progress == CL_COMPLETE);
  drop_watch(of);
}

static void make(program *self, buffer *out)
{
  cl_int code;
  const cl_mem_flags flags = below(self, 3) ? CL_MEM_READ_WRITE : CL_MEM_ALLOC_HOST_PTR;
  static const size_t words[] = {1, 1000, 1003, MOST_WORDS}; /* two share a block's size */
  *out = (buffer){.words = words[below(self, 4)], .references = 1};
  out->mem = clCreateBuffer(self->context, flags, 4 * out->words, NULL, &code);
  require(out->mem && !code);
  fill(self, &self->queues[below(self, self->queue_count)], out);
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

static void end_buffer(buffer *of)
{
  if (of->watched) { /* the callbacks may come from here on */
    require(!clRetainEvent(of->latest));
    of->watched->latest = of->latest;
  }
  for (unsigned i = 0; i < of->references; i++)
    require(!clReleaseMemObject(of->mem));
  if (of->part)
    require(!clReleaseMemObject(of->part));
  if (of->watched)
    await_callbacks(of);
  require(!clReleaseEvent(of->latest));
  *of = (buffer){0};
}

static void share(program *self, buffer *of)
{
  if (below(self, 2)) {
    require(!clRetainMemObject(of->mem));
    of->references++;
  } else if (of->references > 1) {
    require(!clReleaseMemObject(of->mem));
    of->references--;
  }
}

/* The first word, filled with what it has. */
static void part(program *self, queue *on, buffer *of)
{
  cl_event list[3];
  cl_event event;
  const cl_buffer_region first = {0, 4};
  if (!of->part)
    of->part = clCreateSubBuffer(of->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &first, NULL);
  require(of->part);
  const bool is_gated = will_be_gated(on, of, NULL, false);
  const cl_uint count = waits(self, of, NULL, false, list);
  require(!clEnqueueFillBuffer(on->handle, of->part, &of->value, 4, 0, 4, count, list, &event));
  require(!clFlush(on->handle));
  on->is_gated |= is_gated;
  used(of, NULL, event, is_gated);
}

static void set_callbacks(buffer *of)
{
  if (of->watched)
    return;
  of->watched = calloc(1, sizeof(*of->watched));
  require(of->watched);
  of->watched->left = CALLBACKS + 1;
  for (int i = 0; i < CALLBACKS; i++)
    require(!clSetMemObjectDestructorCallback(of->mem, ended, of->watched));
}

/* --- answers --- */

static void ask(program *self, const buffer *of, const queue *on)
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
  require(!clCreateSubBuffer(of->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &beyond, &code));
  note(self, (uint64_t)code);
  require(!clCreateBuffer(self->context, 0, 0, NULL, &code));
  note(self, (uint64_t)code);
}

/* --- programs --- */

static void open_queue(program *self, queue *out)
{
  out->in_order = below(self, 3) > 0;
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, out->in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  out->handle = clCreateCommandQueueWithProperties(self->context, device, properties, NULL);
  require(out->handle);
}

static void begin(program *self)
{
  const char *text = source;
  self->context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  require(self->context);
  self->code = clCreateProgramWithSource(self->context, 1, &text, NULL, NULL);
  require(self->code && !clBuildProgram(self->code, 1, &device, "", NULL, NULL));
  self->kernel = clCreateKernel(self->code, "fill", NULL);
  require(self->kernel);
  self->has_gates = below(self, 2);
  self->queue_count = 1;
  open_queue(self, &self->queues[0]);
}

static void step(program *self)
{
  queue *on = &self->queues[below(self, self->queue_count)];
  buffer *one = &self->buffers[below(self, BUFFERS)];
  buffer *other = &self->buffers[below(self, BUFFERS)];
  const size_t what = below(self, 40);
  if (what == 0 && self->queue_count < QUEUES)
    open_queue(self, &self->queues[self->queue_count++]);
  else if (what == 1)
    close_gate(self, on);
  else if (what == 2)
    finish(on);
  else if (what == 3 && self->gate)
    open_gate(self);
  else if (!one->mem)
    make(self, one);
  else if (what < 16)
    end_buffer(one);
  else if (what < 22)
    fill(self, on, one);
  else if (what < 26 && other->mem)
    copy(self, on, one, other);
  else if (what < 29)
    part(self, on, one);
  else if (what < 32)
    share(self, one);
  else if (what < 33)
    set_callbacks(one);
  else if (what < 35)
    ask(self, one, on);
  else
    check(self, on, one);
}

static void end_buffers(program *self)
{
  for (size_t i = 0; i < BUFFERS; i++)
    if (self->buffers[i].mem)
      end_buffer(&self->buffers[i]);
}

static void end_queues(program *self)
{
  for (size_t i = 0; i < self->queue_count; i++)
    require(!clReleaseCommandQueue(self->queues[i].handle));
}

/* In any order. */
static void end(program *self)
{
  const size_t order = below(self, 4);
  open_gate(self);
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
}

static uint64_t run(unsigned seed)
{
  program *self = calloc(1, sizeof(*self));
  require(self);
  self->chance = clpt_chance_seed(seed);
  begin(self);
  for (size_t i = 0; i < STEPS; i++)
    step(self);
  end(self);
  const uint64_t sum = self->sum;
  free(self);
  return sum;
}

/* --- threads --- */

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
  cl_platform_id platform;
  cl_uint found = 0;
  if (clGetPlatformIDs(1, &platform, &found) || found == 0 ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &found) || found == 0)
    return SKIPPED;
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
