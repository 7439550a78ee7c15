/* SPDX-License-Identifier: MIT */
/* Which sizes a pool's blocks are used for, finer than its bins tell, and at how many other
 * settings of leading_bits_in_bin_id these would share bins.
 *
 * The warm path counts by bin alone. So all blocks are looked at now and then, on the slow paths:
 * each knows the size that it was last asked for. Between two looks more may have been in use; the
 * bins' own counts, which are exact, say how much (forecast.c). All of it is under the pool's lock.
 */
#ifndef CLPOOL_CORE_SIZE_HISTOGRAM_H
#define CLPOOL_CORE_SIZE_HISTOGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes are told apart by so many bits after the leading one. More would save 1.6 % at most. */
enum {
  CLPI_CLASS_BITS = 6,
  CLPI_CLASSES = 1 << CLPI_CLASS_BITS, /* to a power of two */
  CLPI_SETTINGS = CLPI_CLASS_BITS + 1, /* of leading_bits_in_bin_id: 0 to 6 */
  CLPI_LEVELS = sizeof(size_t) * CHAR_BIT
};

/* Of one floor(log2 size), made when such a block is first seen. */
typedef struct clpi_size_level {
  /* At the look that is under way, a bit for each class: has blocks; has one that was released not
   * long ago. And blocks by class: all; in the program's hands. */
  uint64_t used, young;
  uint32_t all[CLPI_CLASSES], in_use[CLPI_CLASSES];
  /* The most that one look found in use at once, in each bin at each setting b: 1 << b | m. */
  uint32_t most[2 * CLPI_CLASSES];
} clpi_size_level;

typedef struct clpi_size_histogram {
  clpi_size_level *levels[CLPI_LEVELS]; /* NULL: no block was seen, or there is no host memory */
  uint64_t looks;
  size_t blocks;                     /* at the last look */
  size_t old;                        /* the age, as a bucket, from which on blocks are not young */
  size_t new_blocks;                 /* since then, from the device */
  size_t credit;                     /* what looks may cost, in blocks looked at */
  double peak_requested;             /* the most bytes in use at one look */
  double peak_padded[CLPI_SETTINGS]; /* likewise, as bins of each setting would allocate them */
  double requests;                   /* that looks stand for */
  double found[CLPI_SETTINGS]; /* of them, those for which an arena's pool would hold a block */
  bool is_reset;               /* peaks were reset since advice was last given */
  size_t arena_peak;           /* an arena's peak at the first advice after a reset; 0: none */
  size_t arena_bytes;          /* the most that it was seen to have since */
} clpi_size_histogram;

struct clp_pool;
struct clpi_cache;

void clpi_size_histogram_init(clpi_size_histogram *histogram);
void clpi_size_histogram_end(clpi_size_histogram *histogram);

/* Forgets what was in use; for peaks that are counted anew. */
void clpi_size_histogram_reset_peaks(clpi_size_histogram *histogram);

/* A block came from the device to the thread whose cache this is (NULL: none): a look, if there are
 * many new ones since the last, and looks have not cost too much. */
void clpi_size_histogram_note_new_locked(struct clp_pool *pool, struct clpi_cache *cache);

/* The same after so many releases of the thread. */
void clpi_size_histogram_note_releases_locked(struct clp_pool *pool, struct clpi_cache *cache,
                                              uint64_t releases);

/* Looks at all blocks; the caches of other threads are claimed. */
void clpi_size_histogram_look_locked(struct clp_pool *pool, struct clpi_cache *cache);

#endif
