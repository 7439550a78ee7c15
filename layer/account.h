/* SPDX-License-Identifier: MIT */
/* The bytes of a context, and their bounds, which the environment sets. Any thread. */
#ifndef CLPOOL_LAYER_ACCOUNT_H
#define CLPOOL_LAYER_ACCOUNT_H

#include <clpool/status.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* On cache lines of its own: all threads change it with each object. */
typedef struct clpi_account {
  alignas(64) atomic_size_t live_bytes; /* of the program's objects, as requested */
  atomic_size_t active_bytes;           /* of their blocks */
  atomic_size_t taken_bytes;            /* of all blocks, including held ones */
  atomic_size_t peak_live_bytes, peak_taken_bytes;
  atomic_size_t served[2];            /* buffers and images that the program got */
  alignas(64) atomic_size_t fresh[2]; /* how many of them were new memory */
  size_t limit_bytes, hold_bytes;     /* SIZE_MAX: not set */
  size_t spare_bytes;                 /* a part of the device's memory */
} clpi_account;

extern unsigned clpi_leading_bits; /* CLPOOL_LAYER_LEADING_BITS: of rounded sizes */

/* Reads the bounds from the environment, once, before the rest. False, after a message: one is
 * wrong. */
bool clpi_bounds_read(void);

/* Sets the bounds, for a device with `device_bytes` of memory. */
void clpi_account_begin(clpi_account *account, size_t device_bytes);

/* Whether the thread may make a block that passes the bound, but not the limit. */
extern _Thread_local bool clpi_account_passes_bound;

/* Counts a new block in taken_bytes, before it is made. CLP_LIMIT_EXCEEDED: it would pass the
 * limit, or together with held blocks the bound, and is not counted. */
clp_status clpi_account_take(clpi_account *account, size_t bytes);

/* Count that the program gets, or releases, an object of `bytes` in a block of `block_bytes`. */
void clpi_account_add(clpi_account *account, size_t bytes, size_t block_bytes);
void clpi_account_drop(clpi_account *account, size_t bytes, size_t block_bytes);

/* Returns how many bytes of held blocks must go back. Without options, a context may take the
 * program's peak use and in addition a quarter of that plus 16 MiB, but in addition at most 1/32 of
 * the device's memory. */
size_t clpi_account_excess(const clpi_account *account);

/* Adds what an account counts to the sum. */
void clpi_account_sum(clpi_account *sum, const clpi_account *account);

#endif
