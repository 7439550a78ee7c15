/* SPDX-License-Identifier: MIT */
/* The device that is late. Marks are numbers of operations. */
#include "late.h"

#include "core/allocator/allocator.h"

#include <stdlib.h>
#include <time.h>

/* How far the host is, and the device, and how far that may be behind. */
static struct {
  uint64_t host, device, behind;
} late;

static void step_device_to(uint64_t operation)
{
  if (late.device < operation)
    late.device = operation < late.host ? operation : late.host;
}

static void step_host(void)
{
  late.host++;
  if (late.host > late.behind)
    step_device_to(late.host - late.behind);
}

/* Where the library waits a little, an operation takes 10 microseconds. */
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)left;
  step_device_to(late.device + (uint64_t)duration->tv_nsec / 10000);
  return 0;
}

/* --- stream order: there is one stream --- */

static clp_status retain(void *self, clp_stream stream)
{
  (void)self;
  (void)stream;
  return CLP_SUCCESS;
}

static void release(void *self, clp_stream stream)
{
  (void)self;
  (void)stream;
}

static clp_status mark_create(void *self, clp_stream stream, void **mark)
{
  (void)self;
  (void)stream;
  uint64_t *made = malloc(sizeof(*made));
  if (!made)
    return CLP_OUT_OF_HOST_MEMORY;
  *made = late.host;
  *mark = made;
  return CLP_SUCCESS;
}

static void mark_destroy(void *self, void *mark)
{
  (void)self;
  free(mark);
}

static clp_status mark_is_done(void *self, void *mark, bool *done)
{
  (void)self;
  *done = late.device >= *(const uint64_t *)mark;
  return CLP_SUCCESS;
}

static clp_status stream_wait(void *self, clp_stream stream, void *mark)
{
  (void)self;
  (void)stream;
  (void)mark;
  return CLP_SUCCESS;
}

static clp_status host_wait(void *self, void *mark)
{
  (void)self;
  step_device_to(*(const uint64_t *)mark);
  return CLP_SUCCESS;
}

clp_status study_late_device_create(uint64_t behind, clp_allocator **out)
{
  static int stream;
  clp_status status = clp_simulated_allocator_create(0, out);
  if (status)
    return status;
  clp_allocator_ops *ops = &(*out)->ops;
  ops->home_stream = &stream;
  ops->stream_retain = retain;
  ops->stream_release = release;
  ops->mark_create = mark_create;
  ops->mark_destroy = mark_destroy;
  ops->mark_is_done = mark_is_done;
  ops->stream_wait = stream_wait;
  ops->host_wait = host_wait;
  ops->free_is_ordered = true;
  ops->exclusive_parts = true;
  late.host = late.device = 0;
  late.behind = behind;
  return CLP_SUCCESS;
}

/* --- operations --- */

static clp_status operate(clp_memory memory, size_t bytes, uint32_t word, void *user_data)
{
  (void)memory;
  (void)bytes;
  (void)word;
  (void)user_data;
  step_host();
  return CLP_SUCCESS;
}

const trace_replay_contents study_late_contents = {.fill = operate, .check = operate};
