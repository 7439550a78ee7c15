/* SPDX-License-Identifier: MIT */
/* The bytes of a context, and what bounds them. Any thread. */
#ifndef CLPOOL_LAYER_ACCOUNT_H
#define CLPOOL_LAYER_ACCOUNT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* On a line of its own: all threads change it with each object. */
typedef struct clpi_account {
  alignas(64) atomic_size_t live_bytes; /* of the program's objects, as asked for */
  atomic_size_t active_bytes;           /* of their blocks */
  atomic_size_t taken_bytes;            /* of all blocks, those that are held, too */
  atomic_size_t peak_live_bytes, peak_taken_bytes;
  atomic_size_t served[2];            /* buffers and images that the program got */
  alignas(64) atomic_size_t fresh[2]; /* and how many were of new memory */
  size_t limit_bytes, hold_bytes;     /* SIZE_MAX: none was given */
  size_t spare_bytes;                 /* a part of the device's memory */
} clpi_account;

/* Sets the bounds, for a device with so much memory. */
void clpi_account_begin(clpi_account *account, size_t device_bytes);

/* The thread makes a block though it passes the bound, but not the limit. */
extern _Thread_local bool clpi_account_passes_bound;

/* A new block is to be made. False: there would be more than the limit, or with held blocks more
 * than the bound, and nothing is noted. */
bool clpi_account_take(clpi_account *account, size_t bytes);

/* It has been made. */
void clpi_account_note_peak(clpi_account *account);

/* It has gone, or was not made. */
void clpi_account_give(clpi_account *account, size_t bytes);

/* The program has an object of `bytes`, in a block of `block_bytes`; and has released it. */
void clpi_account_add(clpi_account *account, size_t bytes, size_t block_bytes);
void clpi_account_drop(clpi_account *account, size_t bytes, size_t block_bytes);

/* How many bytes of held blocks are too many. Without options, a context may take what the program
 * ever had at once, and a quarter of that and 16 MiB more, but no more than 1/32 of the device's
 * memory. */
size_t clpi_account_excess(const clpi_account *account);

#endif
