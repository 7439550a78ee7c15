/* SPDX-License-Identifier: MIT */
/* Legal programs, drawn by chance: buffers are made, filled, copied, shared, parted and released
 * without waiting, on several queues, some behind an event that the program ends late. A hand knows
 * what is in its buffers, and waits only for what can end. A wrong word ends the process, a wait
 * for nothing hangs it. */
#include "program.h"

enum { BUFFERS = 10, QUEUES = 3, MOST_WORDS = 4096, STEPS = 300 };

typedef struct buffer {
  cl_mem mem, part; /* NULL: none */
  size_t words;
  cl_uint value;   /* of all words */
  cl_event latest; /* behind the latest use */
  bool is_gated;   /* that waits for the gate */
  unsigned references;
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
} hand;

static size_t below(hand *self, size_t bound)
{
  return clpt_chance_below(&self->chance, bound);
}

/* --- what is done when an event is complete --- */

typedef struct late {
  hand *by;
  buffer released;
  cl_uint words[MOST_WORDS]; /* that are written until then */
} late;

static void release(const buffer *of)
{
  for (unsigned i = 0; i < of->references; i++)
    require(!clReleaseMemObject(of->mem));
  require(!of->part || !clReleaseMemObject(of->part));
}

static void CL_CALLBACK end_late(cl_event event, cl_int progress, void *user_data)
{
  late *what = user_data;
  hand *by = what->by;
  (void)event;
  require(progress == CL_COMPLETE);
  release(&what->released);
  free(what);
  atomic_fetch_sub(&by->callbacks, 1);
}

static void do_late(late *what, cl_event event)
{
  atomic_fetch_add(&what->by->callbacks, 1);
  require(!clSetEventCallback(event, CL_COMPLETE, end_late, what));
}

static late *begin_late(hand *self)
{
  late *what = calloc(1, sizeof(*what));
  require(what);
  what->by = self;
  return what;
}

/* --- the gate --- */

static void open_gate(hand *self)
{
  if (!self->gate)
    return;
  require(!clSetUserEventStatus(self->gate, CL_COMPLETE) && !clReleaseEvent(self->gate));
  self->gate = NULL;
  for (size_t i = 0; i < QUEUES; i++)
    self->queues[i].is_gated = false;
  for (size_t i = 0; i < BUFFERS; i++)
    self->buffers[i].is_gated = false;
}

static void close_gate(hand *self, queue *on)
{
  if (!self->has_gates || self->gate)
    return;
  self->gate = clCreateUserEvent(self->context, NULL);
  require(self->gate);
  on->is_gated |= on->in_order;
  require(!on->in_order || !clEnqueueMarkerWithWaitList(on->handle, 1, &self->gate, NULL));
}

/* --- use --- */

/* The event of the latest use, in place of those before it. */
static void used(queue *on, buffer *it, cl_event event, bool is_gated)
{
  require(!clFlush(on->handle) && !clRetainEvent(event));
  require(!it->latest || !clReleaseEvent(it->latest));
  it->latest = event;
  it->is_gated = is_gated;
  on->is_gated |= is_gated;
}

static cl_event run_kernel(hand *self, const queue *on, const buffer *to, cl_uint count,
                           const cl_event *list)
{
  cl_event event;
  const cl_uint numbers[] = {(cl_uint)to->words, to->value, (cl_uint)below(self, 100000)};
  const size_t one = 1;
  require(!clSetKernelArg(self->kernel, 0, sizeof(cl_mem), &to->mem));
  for (cl_uint i = 0; i < 3; i++)
    require(!clSetKernelArg(self->kernel, i + 1, sizeof(cl_uint), &numbers[i]));
  require(
      !clEnqueueNDRangeKernel(on->handle, self->kernel, 1, NULL, &one, &one, count, list, &event));
  return event;
}

/* The words are there until they have been read. */
static cl_event write_words(hand *self, const queue *on, const buffer *to, cl_uint count,
                            const cl_event *list)
{
  cl_event event;
  late *what = begin_late(self);
  for (size_t i = 0; i < to->words; i++)
    what->words[i] = to->value;
  require(!clEnqueueWriteBuffer(on->handle, to->mem, CL_FALSE, 0, 4 * to->words, what->words, count,
                                list, &event));
  do_late(what, event);
  return event;
}

/* A part of its own, which stays. */
static cl_mem part_of(buffer *of)
{
  if (!of->part)
    of->part = clCreateSubBuffer(of->mem, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                 &(const cl_buffer_region){0, 4}, NULL);
  require(of->part);
  return of->part;
}

typedef enum kind { KERNEL, FILL, WRITE, COPY, PART } kind;

static void use(hand *self, queue *on, kind what, buffer *to, buffer *from)
{
  cl_event event, list[3];
  cl_uint count = 0;
  bool is_gated = on->is_gated || to->is_gated || (from && from->is_gated);
  if (to->latest)
    list[count++] = to->latest;
  if (from)
    list[count++] = from->latest;
  if (what <= WRITE && self->gate && below(self, 4) == 0) {
    list[count++] = self->gate;
    is_gated = true;
  }
  const cl_event *waits = count ? list : NULL;
  if (what <= WRITE)
    to->value = (cl_uint)clpt_chance_next(&self->chance);
  if (what == KERNEL)
    event = run_kernel(self, on, to, count, waits);
  else if (what == WRITE)
    event = write_words(self, on, to, count, waits);
  else if (what == COPY)
    require(!clEnqueueCopyBuffer(on->handle, from->mem, to->mem, 0, 0, 4 * to->words, count, waits,
                                 &event));
  else
    require(!clEnqueueFillBuffer(on->handle, what == PART ? part_of(to) : to->mem, &to->value, 4, 0,
                                 what == PART ? 4 : 4 * to->words, count, waits, &event));
  to->value = from ? from->value : to->value;
  used(on, to, event, is_gated);
  if (from)
    used(on, from, event, is_gated);
  require(!clReleaseEvent(event));
}

static void check(hand *self, queue *on, buffer *of)
{
  cl_uint read[MOST_WORDS], *words = read;
  cl_int code;
  cl_event event;
  if (of->is_gated || on->is_gated)
    open_gate(self);
  const bool is_mapped = below(self, 3) == 0;
  if (is_mapped)
    words = clEnqueueMapBuffer(on->handle, of->mem, CL_TRUE, CL_MAP_READ, 0, 4 * of->words, 1,
                               &of->latest, NULL, &code);
  else
    code = clEnqueueReadBuffer(on->handle, of->mem, CL_TRUE, 0, 4 * of->words, read, 1, &of->latest,
                               NULL);
  require(words && !code);
  for (size_t i = 0; i < of->words; i++)
    require(words[i] == of->value);
  if (!is_mapped)
    return;
  require(!clEnqueueUnmapMemObject(on->handle, of->mem, words, 0, NULL, &event));
  used(on, of, event, false);
  require(!clReleaseEvent(event));
}

/* --- buffers --- */

static void make(hand *self, queue *on, buffer *out)
{
  static const size_t words[] = {1, 1000, 1003, MOST_WORDS}; /* two share a block's size */
  *out = (buffer){.words = words[below(self, 4)], .references = 1};
  out->mem = clCreateBuffer(self->context, below(self, 3) ? 0 : CL_MEM_ALLOC_HOST_PTR,
                            4 * out->words, NULL, NULL);
  require(out->mem);
  use(self, on, (kind)below(self, COPY), out, NULL); /* each has a use */
}

static void share(hand *self, buffer *of)
{
  if (below(self, 2) && ++of->references)
    require(!clRetainMemObject(of->mem));
  else if (of->references > 1 && of->references--)
    require(!clReleaseMemObject(of->mem));
}

/* Sometimes a callback releases it, behind its latest use. */
static void end_buffer(hand *self, buffer *of)
{
  if (below(self, 8) == 0) {
    late *what = begin_late(self);
    what->released = *of;
    do_late(what, of->latest);
  } else
    release(of);
  require(!clReleaseEvent(of->latest));
  *of = (buffer){0};
}

/* --- steps --- */

static void step_queues(hand *self, size_t what, queue *on)
{
  const cl_command_queue_properties order =
      below(self, 3) ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if (what == 0 && self->queue_count < QUEUES)
    self->queues[self->queue_count++] = (queue){open_queue(self->context, order), !order, false};
  else if (what == 1)
    close_gate(self, on);
  else if (what == 2 && !on->is_gated)
    require(!clFinish(on->handle));
  else if (what == 3)
    open_gate(self);
  else if (what == 4) { /* the work of the one that goes may be pending */
    require(!clReleaseCommandQueue(on->handle));
    *on = (queue){open_queue(self->context, order), !order, false};
  }
}

static void step(hand *self)
{
  queue *on = &self->queues[below(self, self->queue_count)];
  buffer *one = &self->buffers[below(self, BUFFERS)];
  buffer *other = &self->buffers[below(self, BUFFERS)];
  const size_t what = below(self, 41);
  if (what < 5)
    step_queues(self, what, on);
  else if (!one->mem)
    make(self, on, one);
  else if (what < 17)
    end_buffer(self, one);
  else if (what < 25)
    use(self, on, what < 20 ? KERNEL : what < 23 ? FILL : WRITE, one, NULL);
  else if (what < 29 && other->mem && one != other && other->words >= one->words)
    use(self, on, COPY, one, other);
  else if (what < 32)
    use(self, on, PART, one, NULL);
  else if (what < 35)
    share(self, one);
  else
    check(self, on, one);
}

/* --- begin and end --- */

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

static void compile(void)
{
  const char *text = source;
  cl_context context = open_context();
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
  require(program && !clBuildProgram(program, 1, &device, "", NULL, NULL));
  require(!clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(compiled.bytes),
                            &compiled.bytes, NULL));
  compiled.code = malloc(compiled.bytes);
  require(compiled.code && !clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(compiled.code),
                                             &compiled.code, NULL));
  require(!clReleaseProgram(program) && !clReleaseContext(context));
}

static hand *begin(unsigned seed, cl_context context)
{
  hand *self = calloc(1, sizeof(*self));
  const unsigned char *code = compiled.code;
  require(self && !clRetainContext(context));
  self->chance = clpt_chance_seed(seed);
  self->context = context;
  self->code = clCreateProgramWithBinary(context, 1, &device, &compiled.bytes, &code, NULL, NULL);
  require(self->code && !clBuildProgram(self->code, 1, &device, "", NULL, NULL));
  self->kernel = clCreateKernel(self->code, "fill", NULL);
  require(self->kernel);
  self->has_gates = below(self, 2);
  step_queues(self, 0, NULL);
  return self;
}

/* Buffers, queues and the context go in any order. */
static void end(hand *self)
{
  static const char *const orders[] = {"bcq", "cbq", "qbc", "bqc"};
  open_gate(self);
  require(!clReleaseKernel(self->kernel) && !clReleaseProgram(self->code));
  for (const char *what = orders[below(self, 4)]; *what; what++) {
    for (size_t i = 0; *what == 'b' && i < BUFFERS; i++)
      if (self->buffers[i].mem)
        end_buffer(self, &self->buffers[i]);
    for (size_t i = 0; *what == 'q' && i < self->queue_count; i++)
      require(!clReleaseCommandQueue(self->queues[i].handle));
    require(*what != 'c' || !clReleaseContext(self->context));
  }
  while (atomic_load(&self->callbacks) > 0)
    sched_yield();
  free(self);
}

/* --- programs --- */

static cl_context shared;
static atomic_uint next;
static unsigned last;

/* In a context of its own, which the program's references alone keep, or the one for all. */
static void *run_some(void *number)
{
  (void)number;
  for (unsigned seed; (seed = atomic_fetch_add(&next, 1)) <= last;) {
    cl_context own = open_context();
    hand *self = begin(seed, seed % 2 ? own : shared);
    require(!clReleaseContext(own));
    for (size_t i = 0; i < STEPS; i++)
      step(self);
    end(self);
  }
  return NULL;
}

void random_programs(unsigned first, unsigned count, size_t threads)
{
  compile();
  shared = open_context();
  next = first;
  last = first + count - 1;
  run_threads(threads, run_some);
  require(!clReleaseContext(shared));
}
