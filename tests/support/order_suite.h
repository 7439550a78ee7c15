/* SPDX-License-Identifier: MIT */
/* Stream order as one table of cases, for every backend that orders streams: what is done, step by
 * step, and what must hold. A backend gives streams that a test can hold up, and work for them. */
#ifndef CLPT_ORDER_SUITE_H
#define CLPT_ORDER_SUITE_H

#include "suite.h"

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stdint.h>

/** The streams and buffers of a case. H is the home stream, where there is one. */
enum { CLPT_S, CLPT_T, CLPT_U, CLPT_H, CLPT_ORDER_STREAMS };
enum { CLPT_X, CLPT_Y, CLPT_Z, CLPT_V, CLPT_W, CLPT_ORDER_BUFFERS };
enum {
  CLPT_ORDER_BYTES = 1020, /* its bin's size, where an alignment rounds it */
  CLPT_ORDER_WORDS = CLPT_ORDER_BYTES / 4,
  CLPT_MOST_LOOKS = 50,
  CLPT_MOST_READS = 64
};

/** When a block changes hands, as a step expects it: bits, of which one is enough. The reuse flags
 * are two of them. */
enum {
  CLPT_WHEN_NEVER = 0,
  CLPT_WHEN_IT_LOOKS = CLP_REUSE_OPPORTUNISTIC,
  CLPT_WHEN_STREAMS_WAIT = CLP_REUSE_INTERNAL_DEPENDENCIES,
  CLPT_WHEN_IN_ORDER = 4,  /**< the stream of the step is */
  CLPT_WHEN_HOME_USED = 8, /**< new memory is the home stream's at first */
  CLPT_ALWAYS = 16,
  CLPT_ANYHOW = 32, /**< it does not matter which block */
  CLPT_WHEN_OWN = CLPT_WHEN_IN_ORDER | CLPT_WHEN_STREAMS_WAIT,
  CLPT_WHEN_EITHER = CLPT_WHEN_IT_LOOKS | CLPT_WHEN_STREAMS_WAIT
};

/** What a case needs, as bits. */
enum {
  CLPT_NEEDS_HOME = 1,
  CLPT_NEEDS_NO_HOME = 2,
  CLPT_NEEDS_ORDER = 4, /**< all streams are in order */
  CLPT_NEEDS_DROP = 8,
  CLPT_NEEDS_NO_ARENA = 16
};

typedef struct clpt_order_run clpt_order_run;
typedef struct clpt_order_step clpt_order_step;
struct clpt_order_step {
  void (*act)(clpt_order_run *run, const clpt_order_step *step);
  int buffer, stream, other; /**< `other` is a stream, or the buffer whose block is meant */
  unsigned when, count;
  bool unordered; /**< by the call that names no stream */
};

typedef struct clpt_order_case {
  const char *name;
  unsigned needs;
  unsigned flags; /**< 1u << the reuse flags that it is run with, or-ed */
  clpt_order_step steps[24];
} clpt_order_case;

extern const clpt_order_case clpt_order_cases[];
extern const int clpt_order_case_count;

/** What there is in one variant of a backend. */
typedef struct clpt_order_setting {
  clp_allocator *allocator;
  bool on_arena; /**< the pool is, whose segments are this allocator's */
  clp_stream streams[CLPT_ORDER_STREAMS];
  bool are_apart; /**< a stream that is held up holds none up that does not wait for it */
} clpt_order_setting;

typedef struct clpt_order_backend {
  int variants;
  unsigned rounds;
  unsigned looks; /**< how often a pool may have to look at work that is done; 1: and the numbers of
                     waits are known */
  bool (*open)(int variant, clpt_order_setting *out); /**< false: there is no such variant here */
  void (*close)(void);
  void *(*gate)(clp_stream stream); /**< holds up what the stream is given from now on */
  void (*go)(void *gate);
  void (*order)(clp_stream earlier, clp_stream later);
  /** Work that sets all words, or reads them, into `to` unless the backend looks itself. */
  void (*write)(clp_stream stream, clp_buffer *buffer, uint32_t word);
  bool (*read)(clp_stream stream, clp_buffer *buffer, uint32_t *to);
  bool (*is_held_up)(clp_stream stream);
  void (*finish)(clp_stream stream);
  void (*finish_all)(void);               /**< those that have ended, too */
  void (*drop)(clp_stream stream);        /**< its user's reference; NULL: there is no such thing */
  clp_stream (*renew)(clp_stream stream); /**< ends it for good; a new one, maybe where it was */
} clpt_order_backend;

/** A suite of all cases, in all variants, with all reuse flags. Around each case are `setup` and
 * `teardown` (NULL: nothing). */
Suite *clpt_order_suite(const char *name, const clpt_order_backend *backend, SFun setup,
                        SFun teardown);

/** @name Steps, as the table has them @{ */

void clpt_step_gate(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_open(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_held_up(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_order(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_use(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_read(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_take(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_take_done(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_release(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_record(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_bind(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_unbind(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_calm(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_quiet(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_give_back(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_refuse(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_waited(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_forget(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_drop(clpt_order_run *run, const clpt_order_step *step);
void clpt_step_visit(clpt_order_run *run, const clpt_order_step *step);

/** @} */

#endif
