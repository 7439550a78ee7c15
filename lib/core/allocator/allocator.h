/* SPDX-License-Identifier: MIT */
/* The allocator, and calls of its operations. */
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

/* The operations of an allocator that carves blocks from memory that it keeps: an arena. If its
 * memory is an address, pools on it hold nothing. Then it has a carver_lock, which is taken last,
 * and also guards the pools' figures. `bytes` is a multiple of its alignment. Functions whose names
 * do not end in _locked are called under no lock. */
typedef struct clpi_carver {
  clp_memory (*allocate_locked)(void *self, size_t bytes, clpi_given given); /* 0: the slow path */
  bool (*free_locked)(void *self, clp_memory memory, size_t bytes, clpi_given given); /* likewise */
  /* Frees after all work that the streams, at most CLPI_MOST_FREE_STREAMS, have been given. */
  clp_status (*free_after)(void *self, clp_memory memory, size_t bytes, const clp_stream *streams,
                           size_t count);
  /* Gives back segments without blocks, until at most `most` bytes are left, of which at most
   * `most_unused` have no block. The host waits only if most_unused is SIZE_MAX. */
  clp_status (*trim)(void *self, size_t most, size_t most_unused);
  /* Gives back segments that have had no block since an earlier call, at least `milliseconds` ago;
   * `now` is the time. */
  clp_status (*trim_idle)(void *self, uint64_t milliseconds, uint64_t now);
} clpi_carver;

enum { CLPI_MOST_FREE_STREAMS = 4 };

struct clp_allocator {
  clp_allocator_ops ops; /* complete: every function and default is filled in */
  void *self;
  const clp_allocator *orders; /* orders its streams: itself, or an arena's upstream */
  const clpi_carver *carver;   /* NULL: none; never changes */
  clpi_spinlock *carver_lock;
  unsigned forks; /* clpi_forks when it was made */
  atomic_size_t references;
  char name[];
};

/* Whether an ancestor of this process made it. Then nobody may call or lock it, or the pools and
 * arenas on it, which are of the same process. */
static inline bool clpi_allocator_is_inherited(const clp_allocator *allocator)
{
  return clpi_is_inherited(allocator->forks);
}

/* Returns CLP_NOT_SUPPORTED if the allocator is inherited; the message names `function`. */
clp_status clpi_allocator_check(const clp_allocator *allocator, const char *function);

/* Whether the allocator can order streams. */
static inline bool clpi_allocator_orders_streams(const clp_allocator *allocator)
{
  return allocator->orders->ops.stream_retain;
}

/* Whether the allocator can free memory that streams may still use, without a wait of the host. */
static inline bool clpi_frees_are_ordered(const clp_allocator *allocator)
{
  return allocator->ops.free_is_ordered || allocator->ops.free_on;
}

/* split and unsplit for memory that is an address: a part is the block's address and an offset. */
clp_status clpi_split_address(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part);
clp_status clpi_unsplit_address(void *self, clp_memory part, size_t bytes);

/* As clp_allocator_allocate and clp_allocator_free, inside a public call (base/cancel.h), on an
 * allocator of this process. `memory` and `bytes` must not be 0, and `bytes` must not be more than
 * the largest block. On failure `*out` does not change. */
clp_status clpi_allocator_allocate(const clp_allocator *allocator, size_t bytes, clp_memory *out);
clp_status clpi_allocator_free(const clp_allocator *allocator, clp_memory memory, size_t bytes);

/* A pool's on_out_of_memory that the thread is inside. Those of several pools nest. */
typedef struct clpi_asking {
  const clp_pool *pool;
  int64_t bytes; /* freed to allocators meanwhile, minus bytes allocated from them */
  struct clpi_asking *outer;
} clpi_asking;

/* The thread's innermost one; NULL: none. */
extern _Thread_local clpi_asking *clpi_own_asking
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Counts bytes that an allocator got back; negative: bytes that it gave. */
#define clpi_note_given_back(given)                                                                \
  do {                                                                                             \
    if (clpi_own_asking)                                                                           \
      clpi_own_asking->bytes += (given);                                                           \
  } while (0)

/* As clpi_allocator_allocate, on an allocator that has ops.allocate_within. */
clp_status clpi_allocator_allocate_within(const clp_allocator *allocator,
                                          const clp_memory_request *request, clp_memory *out);

/* Returns `status`, which an operation returned. If it is a failure, and the operation set no last
 * error since `serial` (clpi_error_serial before it), sets one; `what` names the operation. */
clp_status clpi_allocator_check_call(const clp_allocator *allocator, clp_status status,
                                     unsigned long serial, const char *what);

/* Calls an operation with the arguments after `self`, and checks its status. */
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
