/* SPDX-License-Identifier: MIT */
/* The allocator interface: create checks and completes the operations once. */
#include "core/allocator/allocator.h"

#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defaults of the optional operations, so that no call site tests for NULL. Operations that order
 * streams or split blocks have no defaults: without them they are not called. */

static void destroy_nothing(void *self)
{
  (void)self;
}

/* Sets no last error: to the out-of-memory steps this only means that nothing was freed. */
static clp_status nothing_to_do(void *self)
{
  (void)self;
  return CLP_NOT_SUPPORTED;
}

static bool is_in_order(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return true;
}

static clp_status forget_nothing(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return CLP_SUCCESS;
}

static clp_status refuse(const char *why)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_ops: %s", why);
}

static clp_status check_order(const clp_allocator_ops *ops)
{
  int given = !!ops->stream_retain + !!ops->stream_release + !!ops->mark_create +
              !!ops->mark_destroy + !!ops->mark_is_done + !!ops->stream_wait + !!ops->host_wait;
  if (given != 0 && given != 7)
    return refuse("set all of stream_retain, stream_release, mark_create, mark_destroy, "
                  "mark_is_done, stream_wait and host_wait, or none");
  bool more = ops->stream_is_in_order || ops->allocate_uses_home || ops->free_is_ordered ||
              ops->free_on || ops->forget_stream || ops->free_stream;
  if (given == 0 && more)
    return refuse("stream_is_in_order, allocate_uses_home, free_is_ordered, free_on, forget_stream "
                  "and free_stream require stream_retain and the others that order streams");
  if (ops->allocate_uses_home && !ops->home_stream)
    return refuse("allocate_uses_home is set, but not home_stream");
  return CLP_SUCCESS;
}

static clp_status check_ops(const clp_allocator_ops *ops)
{
  if (!ops->allocate || !ops->free)
    return refuse("allocate and free must be set");
  if (!ops->split != !ops->unsplit)
    return refuse("set both split and unsplit, or neither");
  if (ops->alignment & (ops->alignment - 1))
    return refuse("alignment is not a power of two");
  if ((int)ops->memory_kind < CLP_MEMORY_UNSTATED || ops->memory_kind > CLP_MEMORY_CUDA)
    return refuse("memory_kind is not a clp_memory_kind");
  return check_order(ops);
}

static void complete_ops(clp_allocator_ops *ops)
{
  ops->destroy = ops->destroy ? ops->destroy : destroy_nothing;
  ops->alignment = ops->alignment ? ops->alignment : 1;
  ops->max_block_bytes = ops->max_block_bytes ? ops->max_block_bytes : SIZE_MAX;
  ops->drain = ops->drain ? ops->drain : nothing_to_do;
  ops->return_cached = ops->return_cached ? ops->return_cached : nothing_to_do;
  if (!ops->stream_retain)
    return;
  ops->stream_is_in_order = ops->stream_is_in_order ? ops->stream_is_in_order : is_in_order;
  ops->forget_stream = ops->forget_stream ? ops->forget_stream : forget_nothing;
}

/* NULL: out of host memory. */
static clp_allocator *make_allocator(const clp_allocator_ops *ops, const char *name, void *self)
{
  size_t name_bytes = strlen(name) + 1;
  clp_allocator *allocator = malloc(sizeof(*allocator) + name_bytes);
  if (!allocator)
    return NULL;
  allocator->ops = *ops;
  allocator->self = self;
  allocator->orders = allocator;
  allocator->forks = clpi_relaxed(clpi_forks);
  allocator->carver = NULL;
  allocator->carver_lock = NULL;
  atomic_init(&allocator->references, 1);
  memcpy(allocator->name, name, name_bytes);
  allocator->ops.name = allocator->name;
  return allocator;
}

clp_status clp_allocator_create(const clp_allocator_ops *ops, void *self, clp_allocator **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_create: out is NULL");
  *out = NULL;
  if (!ops)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_create: ops is NULL");
  clp_allocator_ops complete = CLP_ALLOCATOR_OPS_INIT;
  size_t least = offsetof(clp_allocator_ops, free) + sizeof(ops->free);
  clp_status status =
      clpi_options_read(&complete, sizeof(complete), ops, least, "clp_allocator_ops");
  if (!status)
    status = check_ops(&complete);
  if (status)
    return status;
  complete_ops(&complete);
  const char *name = complete.name ? complete.name : "unnamed";
  *out = clpi_forks_watch() ? make_allocator(&complete, name, self) : NULL;
  if (!*out)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for allocator %s", name);
  return CLP_SUCCESS;
}

clp_status clpi_allocator_create_with(const clp_allocator_ops *ops, const void *self,
                                      size_t self_bytes, clp_allocator **out)
{
  *out = NULL;
  void *copy = malloc(self_bytes);
  if (!copy)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for allocator %s", ops->name);
  memcpy(copy, self, self_bytes);
  clp_status status = clp_allocator_create(ops, copy, out);
  if (status)
    free(copy);
  return status;
}

void clpi_allocator_free_self(void *self)
{
  free(self);
}

clp_status clpi_split_address(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part)
{
  (void)self, (void)bytes;
  *part = block + offset;
  return CLP_SUCCESS;
}

clp_status clpi_unsplit_address(void *self, clp_memory part, size_t bytes)
{
  (void)self, (void)part, (void)bytes;
  return CLP_SUCCESS;
}

clp_status clpi_allocator_check_call(const clp_allocator *allocator, clp_status status,
                                     unsigned long serial, const char *what)
{
  if (status && serial == clpi_error_serial())
    clpi_error(status, 0, "%s: %s: %s", allocator->name, what, clp_status_message(status));
  return status;
}

clp_status clpi_allocator_check(const clp_allocator *allocator, const char *function)
{
  char what[64];
  if (!clpi_is_inherited(allocator->forks))
    return CLP_SUCCESS;
  snprintf(what, sizeof(what), "allocator %s", allocator->name);
  return clpi_refuse_inherited(function, what);
}

clp_allocator *clp_allocator_retain(clp_allocator *allocator)
{
  /* Relaxed: the caller already holds a reference, so there is nothing to order. */
  if (allocator)
    atomic_fetch_add_explicit(&allocator->references, 1, memory_order_relaxed);
  return allocator;
}

void clp_allocator_release(clp_allocator *allocator)
{
  CLPI_UNCANCELLED;
  /* Release: orders this thread's use before the destruction; acquire: orders it after the use of
   * all others. */
  if (!allocator || atomic_fetch_sub_explicit(&allocator->references, 1, memory_order_acq_rel) != 1)
    return;
  if (clpi_allocator_is_inherited(allocator))
    return;
  allocator->ops.destroy(allocator->self);
  free(allocator);
}

_Thread_local clpi_asking *clpi_own_asking;

/* Turns the result of an allocation into a status, with a message if the allocator set none:
 * `serial` is the thread's error serial from before the call. */
static clp_status conclude(const clp_allocator *allocator, clp_status status, unsigned long serial,
                           size_t bytes, clp_memory memory, clp_memory *out)
{
  if (status && serial == clpi_error_serial())
    return clpi_error(status, 0, "%s: allocating %zu bytes: %s", allocator->name, bytes,
                      clp_status_message(status));
  if (!status && !memory)
    return clpi_error(CLP_BACKEND_ERROR, 0, "%s: allocating %zu bytes succeeded with memory 0",
                      allocator->name, bytes);
  if (status)
    return status;
  clpi_note_given_back(-(int64_t)bytes);
  *out = memory;
  return CLP_SUCCESS;
}

CLPI_EXIT clp_status clpi_allocator_allocate(const clp_allocator *allocator, size_t bytes,
                                             clp_memory *out)
{
  unsigned long serial = clpi_error_serial();
  clp_memory memory = 0;
  clp_status status = allocator->ops.allocate(allocator->self, bytes, &memory);
  return conclude(allocator, status, serial, bytes, memory, out);
}

CLPI_EXIT clp_status clpi_allocator_allocate_within(const clp_allocator *allocator,
                                                    const clp_memory_request *request,
                                                    clp_memory *out)
{
  unsigned long serial = clpi_error_serial();
  clp_memory memory = 0;
  clp_status status = allocator->ops.allocate_within(allocator->self, request, &memory);
  if (status == CLP_OUT_OF_DEVICE_MEMORY && !request->most_bytes)
    return status; /* not a failure yet: the caller frees and retries, so no message */
  return conclude(allocator, status, serial, request->bytes, memory, out);
}

CLPI_EXIT clp_status clpi_allocator_free(const clp_allocator *allocator, clp_memory memory,
                                         size_t bytes)
{
  unsigned long serial = clpi_error_serial();
  clp_status status = allocator->ops.free(allocator->self, memory, bytes);
  if (status && serial == clpi_error_serial())
    clpi_error(status, 0, "%s: freeing %zu bytes: %s", allocator->name, bytes,
               clp_status_message(status));
  if (!status)
    clpi_note_given_back((int64_t)bytes);
  return status;
}

clp_status clp_allocator_allocate(clp_allocator *allocator, size_t bytes, clp_memory *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_allocate: out is NULL");
  *out = 0;
  if (!allocator)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_allocate: allocator is NULL");
  if (bytes == 0)
    return CLP_SUCCESS;
  if (bytes > allocator->ops.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes exceed the device's largest block, %zu bytes", allocator->name,
                      bytes, allocator->ops.max_block_bytes);
  clp_status status = clpi_allocator_check(allocator, "clp_allocator_allocate");
  return status ? status : clpi_allocator_allocate(allocator, bytes, out);
}

clp_status clp_allocator_free(clp_allocator *allocator, clp_memory memory, size_t bytes)
{
  CLPI_UNCANCELLED;
  if (!allocator)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_allocator_free: allocator is NULL");
  if (!memory || clpi_allocator_is_inherited(allocator))
    return CLP_SUCCESS;
  return clpi_allocator_free(allocator, memory, bytes);
}

const char *clp_allocator_name(const clp_allocator *allocator)
{
  return allocator ? allocator->name : "";
}

bool clp_allocator_is_deferred(const clp_allocator *allocator)
{
  return allocator && allocator->ops.deferred;
}
