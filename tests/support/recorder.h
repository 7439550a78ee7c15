/* SPDX-License-Identifier: MIT */
/* A hook for tests: writes down what it is shown, and does what the test wants there. */
#ifndef CLPT_RECORDER_H
#define CLPT_RECORDER_H

#include <clpool/hook.h>
#include <pthread.h>

enum { CLPT_MOST_EVENTS = 512, CLPT_LOG_BYTES = 8192 };

typedef struct clpt_recorder clpt_recorder;

struct clpt_recorder {
  clp_hook hook; /**< to be registered; its name is what clpt_recorder_init was given */

  /* Set by the test, after clpt_recorder_init. */
  clpt_recorder *log_of; /**< writes to that one's log, each entry after its name and a colon */
  /** Called after an entry was written. NULL: nothing. */
  void (*also)(clpt_recorder *self, const clp_hook_event *event);
  void *also_data;

  /* What happened. */
  char log[CLPT_LOG_BYTES];
  const char *last; /**< the last entry's callback, such as "m<" */
  clp_hook_event events[CLPT_MOST_EVENTS];
  size_t count; /**< of all events, also of those that found no room */

  pthread_mutex_t lock; /**< guards what happened */
  size_t log_length;
};

void clpt_recorder_init(clpt_recorder *recorder, const char *name);

/** The log since the start or clpt_recorder_clear, such as
 *
 *   m<100:103 a<103 a>103 m>100:103 f<100:103 d<103 d>103 f>100:103
 *
 * m malloc, a alloc, f free, d device_free, `<` the preprocess, `>` the postprocess, then the size,
 * where there is one, and the rounded size. `!` marks a postprocess of malloc without a buffer, and
 * of alloc and device_free without memory. */
#define clpt_recorder_is(recorder, expected) ck_assert_str_eq((recorder)->log, (expected))

void clpt_recorder_clear(clpt_recorder *recorder);

#endif
