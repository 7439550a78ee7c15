/* SPDX-License-Identifier: MIT */
/* A hand of a program drawn by chance: queues and buffers that one thread uses, in a context that
 * may also be another hand's. It knows what is in its buffers, and waits only for what can end. */
#ifndef CLPT_LAYER_RANDOM_PROGRAMS_H
#define CLPT_LAYER_RANDOM_PROGRAMS_H

#include "support/chance.h"

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFERS = 10, QUEUES = 3, MOST_WORDS = 4096 };

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s, line %d: %s is false\n", __FILE__, __LINE__, #condition);                        \
      fflush(stdout);                                                                              \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* What the destructor callbacks of a buffer know. */
typedef struct watch {
  cl_event latest; /* behind the buffer's latest use; retained */
  atomic_int left; /* callbacks, and one for the program */
} watch;

typedef struct buffer {
  cl_mem mem;  /* NULL: none */
  cl_mem part; /* NULL: none */
  size_t words;
  cl_uint value;   /* of all words */
  cl_event latest; /* behind the latest use */
  bool is_gated;   /* that waits for the gate */
  unsigned references;
  watch *watched;
} buffer;

typedef struct queue {
  cl_command_queue handle;
  bool in_order;
  bool is_gated; /* something in it waits for the gate */
} queue;

typedef struct hand {
  clpt_chance chance;
  cl_context context; /* retained */
  cl_program code;
  cl_kernel kernel;
  cl_event gate; /* NULL: none, or it is open */
  bool has_gates;
  size_t queue_count;
  queue queues[QUEUES];
  buffer buffers[BUFFERS];
  atomic_uint callbacks; /* that are still to come */
  uint64_t sum;          /* of all answers */
} hand;

extern cl_device_id random_device;

static inline size_t below(hand *self, size_t bound)
{
  return clpt_chance_below(&self->chance, bound);
}

/* --- random_hand.c --- */

/* The kernel, compiled once for all hands. */
void hand_compile(void);

hand *hand_begin(unsigned seed, cl_context context);
void hand_step(hand *self);

/* Ends all in any order. Returns the sum of all answers. */
uint64_t hand_end(hand *self);

/* --- random_work.c: what hands do with buffers that they have --- */

/* Lets all go on that waits for it. */
void hand_open_gate(hand *self);

/* All work of a queue waits for it from now on, if it is in order; else what names it. */
void hand_close_gate(hand *self, queue *on);

void hand_fill(hand *self, queue *on, buffer *to);
void hand_write(hand *self, queue *on, buffer *to);
void hand_copy(hand *self, queue *on, buffer *from, buffer *to);

/* Writes a word of a part with what it has. */
void hand_part(hand *self, queue *on, buffer *of);

void hand_check(hand *self, queue *on, buffer *of);

/* Asks what is known, and for what is wrong. */
void hand_ask(hand *self, const buffer *of, const queue *on);

/* --- random_life.c: buffers made and given back --- */

void hand_make(hand *self, buffer *out);
void hand_share(hand *self, buffer *of);
void hand_watch(buffer *of);

/* Releases a buffer, now or by a callback behind its work. */
void hand_end_buffer(hand *self, buffer *of);

#endif
