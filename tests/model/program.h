/* SPDX-License-Identifier: MIT */
/* Random programs: a configuration and a list of calls. A call that has nothing
 * to do, such as the release of an empty slot, is skipped, so calls can be left out. */
#ifndef CLPT_MODEL_PROGRAM_H
#define CLPT_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_POOLS = 3, MODEL_STREAMS = 6, MODEL_SLOTS = 96, MODEL_CALLS_MAX = 4000 };

/** What the pools stand on. */
enum {
  MODEL_LATE,     /**< a device whose streams run late (support/late_device.h) */
  MODEL_PLAIN,    /**< the same device without streams */
  MODEL_HOST,     /**< clp_host_allocator_create */
  MODEL_SIMULATED /**< clp_simulated_allocator_create */
};

/** The configuration: numbers, which are 0 in the simplest one. */
#define MODEL_CONFIG(X)                                                                            \
  X(device)             /* MODEL_LATE and so on */                                                 \
  X(capacity)           /* of the device, bytes; 0: no bound */                                    \
  X(max_block_bytes)    /* of the device; 0: no bound */                                           \
  X(freeing)            /* clpt_late_freeing */                                                    \
  X(marks_are_work)     /* see clpt_late_device */                                                 \
  X(reuse_addresses)    /* a new stream comes where one was that ended */                          \
  X(opaque)             /* memory is a handle, as a cl_mem is */                                   \
  X(exclusive_parts)    /* clp_allocator_ops */                                                    \
  X(addresses)          /* of an arena: parts are addresses, see clpt_late_set_addresses */        \
  X(no_drain)           /* the allocator cannot wait for its frees */                              \
  X(has_home)           /* stream 0 is the home stream */                                          \
  X(allocate_uses_home) /* clp_allocator_ops */                                                    \
  X(defect)             /* clpt_late_defect */                                                     \
  X(arena)              /* the pools are on an arena */                                            \
  X(slack_percent)      /* clp_arena_options.slack */                                              \
  X(min_segment_bytes)  /* clp_arena_options */                                                    \
  X(max_segment_bytes)  /* clp_arena_options */                                                    \
  X(one_thread)         /* clp_arena_options */                                                    \
  X(seldom_looks)       /* at the arena's figures, which end a loop that it follows */             \
  X(reserve_bytes)      /* clp_arena_reserve, where the device has them */                         \
  X(pools)              /* how many besides the first */                                           \
  X(memory_limit)       /* CLPOOL_MEMORY_LIMIT when a pool is made, bytes; 0: not set */           \
  X(bits)               /* leading_bits_in_bin_id */                                               \
  X(no_opportunistic)   /* without CLP_REUSE_OPPORTUNISTIC */                                      \
  X(no_dependencies)    /* without CLP_REUSE_INTERNAL_DEPENDENCIES */                              \
  X(tries)              /* clp_pool_try_allocate comes first */                                    \
  X(watched)            /* each pool has a hook from the start */                                  \
  X(ends_early)         /* pools end before their buffers */                                       \
  X(nth_device)         /* the device call that fails, from 1; 0: none */                          \
  X(nth_is_memory)      /* with CLP_OUT_OF_DEVICE_MEMORY, if it is for memory */                   \
  X(nth_stays)          /* and all after it; of the host's, until the library's call ends */       \
  X(nth_host)           /* the allocation of host memory that fails */

typedef struct model_config {
#define X(name) unsigned long name;
  MODEL_CONFIG(X)
#undef X
} model_config;

/** What a call does, and how often it is drawn beside 100 allocations and 100 releases. `slot`,
 * `pool` and `stream` are numbers; a stream of -1 is none. */
#define MODEL_VERBS(X)                                                                             \
  X(allocate, 0)       /* slot pool stream bytes */                                                \
  X(release, 0)        /* slot stream */                                                           \
  X(write, 40)         /* slot stream */                                                           \
  X(read, 40)          /* slot stream: noted as a use */                                           \
  X(bind, 15)          /* slot stream */                                                           \
  X(unbind, 8)         /* slot */                                                                  \
  X(replace_stream, 6) /* stream: it is forgotten and destroyed */                                 \
  X(mark_stream, 12)   /* pool stream */                                                           \
  X(step, 40)          /* value: pieces of work that some streams do */                            \
  X(run, 15)           /* stream: it works until it has to wait */                                 \
  X(finish, 10)        /* stream */                                                                \
  X(finish_all, 5)                                                                                 \
  X(free_held, 6)    /* pool */                                                                    \
  X(trim, 12)        /* pool bytes */                                                              \
  X(limit, 6)        /* pool bytes */                                                              \
  X(fit_limit, 12)   /* pool bytes: room for one such block; less one byte with an odd slot */     \
  X(reset_peaks, 4)  /* pool */                                                                    \
  X(hook, 12)        /* slot: which; pool, or of the thread with a stream of 0 or more */          \
  X(spare, 8)        /* value: buffers that on_out_of_memory may release */                        \
  X(stop_holding, 1) /* pool */                                                                    \
  X(replace_pool, 3) /* pool: its buffers live on */                                               \
  X(without_pool, 4) /* bytes: straight from the allocator */                                      \
  X(fail, 5)         /* value: which calls of the device; slot: after so many, pool: so often */   \
  X(heal, 3)         /* nothing fails any more */

typedef enum model_verb {
#define X(name, often) MODEL_##name,
  MODEL_VERBS(X)
#undef X
      MODEL_VERB_COUNT
} model_verb;

/** Whether the verb is of programs with streams alone. */
static inline bool model_needs_streams(model_verb verb)
{
  return verb >= MODEL_write && verb <= MODEL_finish_all;
}

typedef struct model_call {
  model_verb verb;
  unsigned slot, pool;
  int stream;
  size_t value;
} model_call;

typedef struct model_program {
  model_config config;
  size_t count;
  model_call calls[MODEL_CALLS_MAX];
} model_program;

/** Draws a program. The same seed gives the same program. */
void model_draw(model_program *program, unsigned seed);

#endif
