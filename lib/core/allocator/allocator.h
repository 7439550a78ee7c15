/* SPDX-License-Identifier: MIT */
/* An allocator. */
#ifndef CLPOOL_CORE_ALLOCATOR_ALLOCATOR_H
#define CLPOOL_CORE_ALLOCATOR_ALLOCATOR_H

#include "core/base/error.h"
#include "core/base/fork.h"
#include "core/base/list.h"
#include "core/base/spinlock.h"

#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <pthread.h>
#include <stdatomic.h>

/* The stream argument of a call. */
typedef struct clpi_given {
  bool is_given; /* false: the call is for the home stream */
  clp_stream handle;
} clpi_given;

/* Bytes, rounded up to an alignment. */
#define clpi_aligned(bytes, alignment) (((bytes) + (alignment)-1) & ~((alignment)-1))

/* What an allocator can do that carves blocks from memory which it keeps, an arena. Where that is
 * an address, pools on it hold nothing: it has a carver_lock, which is taken last, and guards the
 * pools' figures, too. `bytes` are a multiple of its alignment. What is not named _locked is called
 * under no lock. */
typedef struct clpi_carver {
  clp_memory (*allocate_locked)(void *self, size_t bytes, clpi_given given); /* 0: the slow way */
  bool (*free_locked)(void *self, clp_memory memory, size_t bytes, clpi_given given); /* likewise */
  /* Frees after what the streams, CLPI_MOST_FREE_STREAMS at most, were given so far. */
  clp_status (*free_after)(void *self, clp_memory memory, size_t bytes, const clp_stream *streams,
                           size_t count);
  /* Gives memory without blocks back, until `most` bytes are left, and `most_unused` of it: for the
   * latter it makes the host wait for nothing. */
  clp_status (*trim)(void *self, size_t most, size_t most_unused);
  /* The same of what had no block at an earlier call, at least so long ago, nor since; `now` is
   * that of a clock. */
  clp_status (*trim_idle)(void *self, uint64_t milliseconds, uint64_t now);
} clpi_carver;

enum { CLPI_MOST_FREE_STREAMS = 4 };

struct clp_allocator {
  clp_allocator_ops ops; /* complete: every function and default is filled in */
  void *self;
  const clp_allocator
      *orders; /* whose operations order its streams: itself, or what an arena is on */
  const clpi_carver *carver; /* NULL: none; never changes */
  clpi_spinlock *carver_lock;
  unsigned forks; /* clpi_forks when it was made */
  atomic_size_t references;
  char name[];
};

/* Whether an ancestor of this process has made it. Then nothing may be called or locked of it, nor
 * of what stands on it: pools, and arenas, which are of the same process. */
static inline bool clpi_allocator_is_inherited(const clp_allocator *allocator)
{
  return clpi_is_inherited(allocator->forks);
}

/* CLP_NOT_SUPPORTED: the allocator is inherited, and so of no use to `function`. */
clp_status clpi_allocator_check(const clp_allocator *allocator, const char *function);

/* Whether there is the group of operations that order streams. */
static inline bool clpi_allocator_orders_streams(const clp_allocator *allocator)
{
  return allocator->orders->ops.stream_retain;
}

/* Whether memory can be given back that streams may still use, without a wait of the host. */
static inline bool clpi_frees_are_ordered(const clp_allocator *allocator)
{
  return allocator->ops.free_is_ordered || allocator->ops.free_on;
}

/* split and unsplit for memory that is an address: a part is an offset into its block. */
clp_status clpi_split_address(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part);
clp_status clpi_unsplit_address(void *self, clp_memory part, size_t bytes);

/* As clp_allocator_allocate and clp_allocator_free, within a public call (base/cancel.h), on an
 * allocator of this process. Neither `memory` nor `bytes` is 0, nor is that more than the largest
 * block. On failure `*out` stays as it is. */
clp_status clpi_allocator_allocate(const clp_allocator *allocator, size_t bytes, clp_memory *out);
clp_status clpi_allocator_free(const clp_allocator *allocator, clp_memory memory, size_t bytes);

/* A pool's on_out_of_memory that the thread is inside of. Those of several pools nest. */
typedef struct clpi_asking {
  const clp_pool *pool;
  int64_t bytes; /* that allocators got back meanwhile, less what they gave */
  struct clpi_asking *outer;
} clpi_asking;

/* The innermost; NULL: none. */
extern _Thread_local clpi_asking *clpi_own_asking
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* An allocator got bytes back; negative: it gave them. */
#define clpi_note_given_back(given)                                                                \
  do {                                                                                             \
    if (clpi_own_asking)                                                                           \
      clpi_own_asking->bytes += (given);                                                           \
  } while (0)

/* The same, on an allocator that has ops.allocate_within. */
clp_status clpi_allocator_allocate_within(const clp_allocator *allocator,
                                          const clp_memory_request *request, clp_memory *out);

/* Returns the status of an operation. If that has failed, and set no error since `serial`, which is
 * clpi_error_serial from before, sets one that names `what` was being done. */
clp_status clpi_allocator_check_call(const clp_allocator *allocator, clp_status status,
                                     unsigned long serial, const char *what);

/* Calls an operation with the arguments behind `self`, and checks it so. */
#define clpi_allocator_call(allocator, what, operation, ...)                                       \
  __extension__({                                                                                  \
    unsigned long clpi_serial = clpi_error_serial();                                               \
    clpi_allocator_check_call(                                                                     \
        allocator, (allocator)->ops.operation((allocator)->self, __VA_ARGS__), clpi_serial, what); \
  })

/* An ops.destroy for a `self` from malloc. */
void clpi_allocator_free_self(void *self);

/* Creates an allocator whose `self` is a malloc'ed copy of `self`, `self_bytes` long. `out` is not
 * NULL. */
clp_status clpi_allocator_create_with(const clp_allocator_ops *ops, const void *self,
                                      size_t self_bytes, clp_allocator **out);

#endif
