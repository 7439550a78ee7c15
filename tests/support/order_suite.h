/* SPDX-License-Identifier: MIT */
/* Stream order as one table of cases (order_cases.h), for every backend that orders streams: what
 * is done, step by step, and what must hold. A backend gives streams that a test can hold up, and
 * work for them. */
#ifndef CLPT_ORDER_SUITE_H
#define CLPT_ORDER_SUITE_H

#include "suite.h"

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stdint.h>

/** The streams of a case. H is the home stream, where there is one. */
enum { CLPT_S, CLPT_T, CLPT_U, CLPT_H, CLPT_ORDER_STREAMS };
enum {
  CLPT_ORDER_BYTES = 1020, /* its bin's size, where an alignment rounds it */
  CLPT_ORDER_WORDS = CLPT_ORDER_BYTES / 4,
  CLPT_MOST_LOOKS = 50, /* at work that is done, until a driver says so */
  CLPT_MOST_READS = 64
};

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
  bool (*open)(int variant, clpt_order_setting *out); /**< false: there is no such variant here */
  void (*close)(void);
  void *(*gate)(clp_stream stream); /**< holds up what the stream is given from now on */
  void (*go)(void *gate);
  void (*order)(clp_stream earlier, clp_stream later);
  /** Work that sets all words, or reads them. */
  void (*write)(clp_stream stream, clp_buffer *buffer, uint32_t word);
  void (*read)(clp_stream stream, clp_buffer *buffer, uint32_t *to);
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

#endif
