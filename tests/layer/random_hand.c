/* SPDX-License-Identifier: MIT */
#include "layer/random_programs.h"

#include <sched.h>

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

cl_device_id random_device;

static struct {
  size_t bytes;
  unsigned char *code;
} compiled;

void hand_compile(void)
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

hand *hand_begin(unsigned seed, cl_context context)
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

void hand_step(hand *self)
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

uint64_t hand_end(hand *self)
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
