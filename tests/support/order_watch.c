/* SPDX-License-Identifier: MIT */
/* What the pool asks of the allocator in a case of stream order, counted, and the gates that hold
 * its streams up. */
#include "order_run.h"

#include "core/allocator/allocator.h"

clp_allocator_ops clpt_order_real;
clpt_order_counts clpt_order_counted;
static clpt_order_run *watched;

void clpt_order_open_gate(clpt_order_run *run, size_t number)
{
  if (run->gates[number] != NULL)
    run->backend->go(run->gates[number]);
  run->gates[number] = NULL;
}

void clpt_order_open_all_gates(clpt_order_run *run)
{
  for (size_t i = 0; i < CLPT_MOST_GATES; i++)
    clpt_order_open_gate(run, i);
}

/* What the host waits for now could not go on by itself. */
static void host_waits(void)
{
  clpt_order_counted.calls++;
  clpt_order_counted.host_waits++;
  clpt_order_open_all_gates(watched);
}

static clp_status count_allocate(void *self, size_t bytes, clp_memory *out)
{
  clpt_order_counted.calls++;
  if (clpt_order_counted.refusals == 0)
    return clpt_order_real.allocate(self, bytes, out);
  clpt_order_counted.refusals--;
  return clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "refused by the test");
}

static clp_status count_free(void *self, clp_memory memory, size_t bytes)
{
  clpt_order_counted.calls++;
  return clpt_order_real.free(self, memory, bytes);
}

static clp_status count_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  clpt_order_counted.calls++;
  return clpt_order_real.free_on(self, memory, bytes, stream);
}

static clp_status count_drain(void *self)
{
  host_waits();
  return clpt_order_real.drain(self);
}

static clp_status count_stream_retain(void *self, clp_stream stream)
{
  clpt_order_counted.calls++;
  return clpt_order_real.stream_retain(self, stream);
}

static clp_status count_mark_create(void *self, clp_stream stream, void **mark)
{
  clpt_order_counted.calls++;
  return clpt_order_real.mark_create(self, stream, mark);
}

static clp_status count_mark_is_done(void *self, void *mark, bool *done)
{
  clpt_order_counted.calls++;
  return clpt_order_real.mark_is_done(self, mark, done);
}

static clp_status count_stream_wait(void *self, clp_stream stream, void *mark)
{
  clpt_order_counted.calls++;
  clpt_order_counted.stream_waits++;
  return clpt_order_real.stream_wait(self, stream, mark);
}

static clp_status count_host_wait(void *self, void *mark)
{
  host_waits();
  return clpt_order_real.host_wait(self, mark);
}

void clpt_order_watch(clpt_order_run *run)
{
  clp_allocator_ops *ops = &run->is.allocator->ops;

  watched = run;
  memset(&clpt_order_counted, 0, sizeof(clpt_order_counted));
  clpt_order_real = *ops;
  ops->allocate = count_allocate;
  ops->free = count_free;
  ops->free_on = ops->free_on ? count_free_on : NULL;
  ops->drain = count_drain;
  ops->stream_retain = count_stream_retain;
  ops->mark_create = count_mark_create;
  ops->mark_is_done = count_mark_is_done;
  ops->stream_wait = count_stream_wait;
  ops->host_wait = count_host_wait;
}

bool clpt_order_is_in_order(const clpt_order_run *run, int stream)
{
  return clpt_order_real.stream_is_in_order(run->is.allocator->self, run->is.streams[stream]);
}
