/* SPDX-License-Identifier: MIT */
/* Pools on a device, and a model of what their user has: which buffers, what is in them, and which
 * stream has used them last. A user does here what the headers allow, and all of it. */
#ifndef CLPT_FUZZ_SUBJECT_H
#define CLPT_FUZZ_SUBJECT_H

#include "fuzz.h"
#include "support/late_device.h"

#include <clpool/clpool.h>

enum { SUBJECT_POOLS = 2, SUBJECT_STREAMS = 4, SUBJECT_SLOTS = 16 };

/** What is beneath; on the late device alone are there streams. */
typedef enum subject_kind { SUBJECT_LATE, SUBJECT_HOST, SUBJECT_SIMULATED } subject_kind;

/** A buffer that the user has, or none. */
typedef struct subject_slot {
  clp_buffer *buffer;
  size_t bytes;
  unsigned pool, generation; /* the one that it is of */
  unsigned char pattern;     /* on the host: what it is full of */
  bool is_written;           /* on the late device: by a stream */
  int last;                  /* the stream that wrote last, by number; -1: that is done */
  int bound;                 /* -1: to none */
  unsigned readers;          /* bits of streams that read since, and that are noted */
  unsigned noted;            /* bits of streams that clp_buffer_record_use noted */
} subject_slot;

typedef struct subject {
  subject_kind kind;
  clpt_late_device device;
  clp_allocator *allocator; /* what pools are made on */
  clp_pool_options options;
  clp_pool *pools[SUBJECT_POOLS];
  unsigned generations[SUBJECT_POOLS]; /* how many pools were before */
  uint64_t allocated[SUBJECT_POOLS];
  size_t managed[SUBJECT_POOLS]; /* bytes, after the call before */
  bool stopped[SUBJECT_POOLS];
  clp_stream streams[SUBJECT_STREAMS]; /* the first is the home stream, if there is one */
  bool has_home, has_faults;
  unsigned spares; /* buffers that on_out_of_memory may yet release */
  clp_hook hook;
  int inside; /* callbacks of the hook that have no postprocess yet */
  subject_slot slots[SUBJECT_SLOTS];
} subject;

/** Begins as three bytes say: the device, its capacity, the pools' options. */
void subject_begin(subject *it, const uint8_t *bytes);

/** Releases everything, and requires that nothing is left and nothing was ever wrong. */
void subject_end(subject *it);

/** Requires that the pools' figures are the model's, and that nothing was wrong so far. */
void subject_check(subject *it);

/** Makes another pool in place of one, whose buffers live on. */
void subject_replace_pool(subject *it, unsigned pool);

/** The user's part; a stream of -1 is none, and calls are then those without a stream. */
void subject_allocate(subject *it, unsigned slot, unsigned pool, size_t bytes, int stream);
void subject_release(subject *it, unsigned slot, int stream);
void subject_write(subject *it, unsigned slot, int stream);
void subject_read(subject *it, unsigned slot, int stream);
void subject_bind(subject *it, unsigned slot, int stream);
void subject_unbind(subject *it, unsigned slot);

/** Forgets a stream in all pools and, if that is done, destroys it and makes another one. */
void subject_replace_stream(subject *it, int stream);

#endif
