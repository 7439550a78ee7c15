/* SPDX-License-Identifier: MIT */
/* A random program at work: pools on a device, their user, and what the model knows of both. After
 * each call, the library must be as the model says (model_check). The user does what the headers
 * allow. Only one thread uses it. */
#ifndef CLPT_MODEL_MODEL_H
#define CLPT_MODEL_MODEL_H

#include "model/program.h"
#include "support/late_device.h"

#include <clpool/clpool.h>

enum { MODEL_HELD_MAX = 512, MODEL_MARKS_MAX = 64, MODEL_THREAD_HOOKS = 4 };
enum { MODEL_HOOKS = MODEL_THREAD_HOOKS + MODEL_POOLS };

/** The kind of a callback of a hook; its preprocess is even, its postprocess odd. */
enum { MODEL_MALLOC, MODEL_ALLOC = 2, MODEL_FREE = 4, MODEL_DEVICE_FREE = 6, MODEL_NO_KIND = 8 };

/** A buffer that the user has, or none. */
typedef struct model_slot {
  clp_buffer *buffer;
  clp_memory memory;
  size_t bytes, capacity;
  unsigned pool, generation; /* the pool, and which of those that were in its place */
  unsigned char pattern;     /* what it is full of, where there are no streams */
  bool is_written;           /* by a stream */
  int last;                  /* the stream that wrote last; -1: none, or its work is done */
  int bound;                 /* -1: to none */
  unsigned readers;          /* bits of streams that read since the last write */
  unsigned noted;            /* bits of streams that clp_buffer_record_use noted */
} model_slot;

/** A held block, as far as the model follows it: where pools stand on the fake device alone. */
typedef struct model_held {
  clp_memory memory;
  size_t bytes, bin;
  unsigned pool;
  uint64_t age;                      /* counts releases */
  unsigned streams;                  /* bits of those that used it last */
  uint64_t positions[MODEL_STREAMS]; /* and how much these had been given then */
  bool is_forgotten;                 /* one of them was forgotten */
} model_held;

typedef struct model_pool {
  clp_pool *pool;
  unsigned generation; /* how many pools were in its place before */
  bool is_stopped;
  uint64_t allocated, reactions; /* by the model's count */
  uint64_t misses;               /* after the call before */
  size_t managed, peak_managed, peak_active;
  size_t largest_asked; /* the largest block asked for since the last check, bytes */
  struct {
    int stream;
    uint64_t position,
        age; /* how much the stream had been given, and how many releases there were */
  } marks[MODEL_MARKS_MAX]; /* what clp_pool_mark_stream was called behind */
  size_t mark_count;
  uint64_t mallocs, allocs, frees; /* by its own hook, if it has one */
} model_pool;

/** A registration of a hook. */
typedef struct model_hook {
  clp_hook hook;
  struct model *model;
  uint64_t order; /* counts registrations; 0: none */
  int pool;       /* -1: of the thread */
  char name[16];
} model_hook;

/** What frees blocks at the moment. */
typedef enum model_phase { MODEL_IDLE, MODEL_TRIMS, MODEL_ALLOCATES } model_phase;

typedef struct model {
  const model_program *program;
  const model_config *config;
  size_t at; /* the number of the call */
  clpt_late_device device;
  clp_allocator *allocator; /* what pools are made on */
  model_pool pools[MODEL_POOLS];
  unsigned pool_count;
  clp_stream streams[MODEL_STREAMS]; /* the first is the home stream, if there is one */
  model_slot slots[MODEL_SLOTS];
  bool has_streams, is_fake, may_fail; /* may_fail: something failed on purpose, or will */
  unsigned spares;                     /* buffers that on_out_of_memory may yet release */
  unsigned callbacks;                  /* calls of on_out_of_memory in the call at work */
  bool can_run_out;                    /* of memory or a limit */
  size_t reserve_bytes;                /* clp_arena_stats */
  size_t peak_used;                    /* of an arena without streams, bytes */
  uint64_t misses, taken;              /* since the call before: of pools, and of the device */
  unsigned faults_before;              /* of the device, before the call at work */
  unsigned losses;                     /* that the log told of */
  unsigned stays;                      /* blocks of released buffers that the device did not take */
  uint64_t repeated;                   /* clp_arena_stats, at the end */
  uint64_t followed,
      served; /* held blocks that had to serve or to go, and the allocations served */

  /* held.c */
  bool follows_held;
  model_held held[MODEL_HELD_MAX];
  size_t held_count;
  uint64_t age;
  model_phase phase;
  unsigned phase_pool;
  size_t phase_bytes;
  bool must_hit; /* a held block has to serve the allocation that is at work */
  unsigned stream_waits, device_calls; /* until the allocation that is at work */

  /* hooks.c */
  model_hook hooks[MODEL_HOOKS];
  uint64_t registrations;
  unsigned kinds[8], depth; /* callbacks without their postprocess yet */
  unsigned kind;  /* of the callbacks that are called at the moment, one hook after another */
  uint64_t order; /* of the hook called last */
  unsigned called;
  int kind_pool;
  size_t asked; /* bytes that the allocation at work asks for */
} model;

/** Ends the process with what does not hold, unless it holds; of the program `it`. */
#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition))                                                                              \
      model_fail(it, __FILE__, __LINE__, #condition);                                              \
  } while (0)
_Noreturn void model_fail(const model *it, const char *file, int line, const char *what);

/** What model_fail leaves for a parent process. */
enum { MODEL_FAILURE_BYTES = 200 };
typedef struct model_failure_note {
  char text[MODEL_FAILURE_BYTES];
  size_t at; /* the number of the call */
} model_failure_note;
extern model_failure_note *model_failure; /* NULL: nothing is left */

/** Whether all is checked after each call, and not some figures every eighth time. */
extern bool model_checks_all;

/** Called with true before a call of the library, and with false after it: what the library
 * allocates of host memory is counted in between. NULL: nothing. */
extern void (*model_in_library)(bool is_inside);

/** Called with true when the library calls the device or a callback, and with false after that.
 * NULL: nothing. */
extern void (*model_outside)(bool is_outside);

/** The value of a call of the library. */
#define LIB(call)                                                                                  \
  __extension__({                                                                                  \
    if (model_in_library)                                                                          \
      model_in_library(true);                                                                      \
    __typeof__(call) model_value_ = (call);                                                        \
    if (model_in_library)                                                                          \
      model_in_library(false);                                                                     \
    model_value_;                                                                                  \
  })

/** Runs a whole program; returns when all was as it should be. run.c. */
void model_run(model *it, const model_program *program);
void model_make_pool(model *it, unsigned pool);
void model_end_pool(model *it, unsigned pool);
void model_set_outside(bool is_outside); /* the library is called back, or calls the device */
unsigned
model_failing_calls(bool is_memory);         /* bits of the device's calls that nth_device counts */
bool model_may_have_failed(const model *it); /* the call at work, on purpose */

/** Makes one call of the program. calls.c, user.c. */
void model_make_call(model *it, const model_call *call);
#define X(name, often) void model_do_##name(model *it, const model_call *call);
MODEL_VERBS(X)
#undef X
bool model_release_some(clp_pool *pool, size_t bytes, void *it); /* on_out_of_memory */

/** Requires that a call that gave this status succeeded, or failed for what fails on purpose. */
void model_require_success(const model *it, clp_status status);

/** held.c: held blocks, in which order they go, and which must serve. */
void model_held_begin(model *it);
void model_held_add(model *it, const model_slot *released, int stream);
void model_held_drop(model *it, unsigned pool); /* all that a pool holds */
void model_held_forget(model *it, unsigned pool, int stream);
bool model_held_must_serve(const model *it, unsigned pool, int stream, size_t bytes);
void model_held_serve(model *it, unsigned pool, int stream, const model_slot *got);

/** figures.c */
void model_check(model *it);
void model_check_refusal(model *it, unsigned pool, size_t bytes, clp_status status);
size_t model_block_bytes(const model *it, unsigned pool, size_t bytes);
size_t model_least_bytes(const model *it, unsigned pool, size_t bytes); /* where that is refused */
bool model_is_never_held(const model *it, const model_slot *slot);      /* as it has another size */
void model_note_used(model *it);                                        /* the peak of an arena */
void model_check_trimmed(const model *it, size_t bytes);
void model_check_capacity(const model *it, const model_slot *new, unsigned refusals);
clp_pool_stats model_stats(const model *it, unsigned pool);
bool model_slot_is_of(const model *it, const model_slot *slot, unsigned pool);

/** hooks.c */
void model_hooks_begin(model *it);
void model_hook_watch(model *it, unsigned pool); /* from the pool's beginning */
void model_hook_toggle(model *it, unsigned hook, int pool);
void model_hooks_end(model *it, int pool); /* -1: all */
void model_hooks_check(model *it);         /* between calls */

#endif
