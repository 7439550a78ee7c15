/* SPDX-License-Identifier: MIT */
#include "layer/random_programs.h"

/* --- the gate --- */

void hand_open_gate(hand *self)
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

void hand_close_gate(hand *self, queue *on)
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

void hand_fill(hand *self, queue *on, buffer *to)
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
void hand_write(hand *self, queue *on, buffer *to)
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

void hand_copy(hand *self, queue *on, buffer *from, buffer *to)
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

void hand_part(hand *self, queue *on, buffer *of)
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

void hand_check(hand *self, queue *on, buffer *of)
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

void hand_ask(hand *self, const buffer *of, const queue *on)
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
