/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/advice.h - which leading_bits_in_bin_id suits a running program, and whether an arena
 * does, as its pool can tell without a trace. With one, `clpool tune` tries all settings. */
#ifndef CLPOOL_ADVICE_H
#define CLPOOL_ADVICE_H

#include <clpool/pool.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What advice shall be good for. */
typedef enum clp_objective {
  /** The least product of time and memory: of the peak taken from the device, and of an estimate of
   * what allocations take. Costs of the device are not known, so calls are counted: one of the
   * device for memory as 1000 hits, a block carved from an arena as 25. */
  CLP_OBJECTIVE_BALANCED = 0,
  CLP_OBJECTIVE_TIME = 1,  /**< the most hits; never an arena, whose pool has fewer */
  CLP_OBJECTIVE_MEMORY = 2 /**< the least footprint */
} clp_objective;

/** Room for a reason, its end included, in bytes. */
#define CLP_ADVICE_REASON_BYTES 320

/** A recommended setting, and what is expected of it. All but the first two are results. */
typedef struct clp_pool_advice {
  size_t struct_size;              /**< set by the caller: sizeof(clp_pool_advice) */
  clp_objective objective;         /**< set by the caller */
  unsigned leading_bits_in_bin_id; /**< recommended: 0 to 6, or what the pool has */
  bool on_arena;                   /**< recommended: clp_arena_allocator_create, beneath the pool */
  double hit_rate;                 /**< expected with these, of all allocations: 0 to 1 */
  double footprint;                /**< expected: peak of bytes taken over the peak in use */
  double hit_rate_now;             /**< as the pool's are */
  double footprint_now;            /**< likewise */
  uint64_t allocations;            /**< that the advice rests on: of more than zero bytes */
  char reason[CLP_ADVICE_REASON_BYTES]; /**< a sentence with these figures, one line of ASCII */
} clp_pool_advice;

/** Advice for a balance of time and memory. */
#define CLP_POOL_ADVICE_INIT                                                                       \
  {                                                                                                \
    .struct_size = sizeof(clp_pool_advice)                                                         \
  }

/** Says which setting suits what the program did with the pool so far; changes nothing. Semantics
 * are clpool's own.
 *
 * Hits, misses and blocks are counted by bin. Which sizes are in use within bins, and which bins
 * are in use at once, is looked at now and then, closely in the beginning, and by this call. What
 * is expected of other settings is an estimate from that; doc/tuning.md compares it with replays.
 * The footprint is that of the pool's managed bytes, or, where it is alone on an arena, of the
 * arena's segments. Peaks are those since creation or clp_pool_reset_peaks, so ask after the
 * program was through its largest work, and a long run after its start-up. After a reset, and as
 * long as an arena has not taken more than before, its peak is the most that it had at calls since,
 * but at least the pool's managed bytes. An arena is recommended where the pool's allocator can be
 * split, or the pool is on one; the pool's own setting where others are better by less than three
 * per cent. Where several threads use the pool, looks are rare. Least sure are the hits on an arena
 * while the pool is on none.
 *
 * Results are written on success only, as far as the struct_size goes; what this version does not
 * know is set to zero. Any thread; takes some microseconds, in which other threads are kept out of
 * their caches, and some nanoseconds more for each block.
 * CLP_INVALID_ARGUMENT: NULL pool or advice, an unknown objective, a struct_size that does not
 *   reach past leading_bits_in_bin_id.
 * CLP_NOT_FOUND: there is no telling: fewer than 1000 allocations, of more than zero bytes; no look
 *   found sizes in use, or such as were asked for (for instance since there was no host memory for
 *   it); or the pool has stopped holding, so that no setting gives hits: ask before. The message
 *   says which of these it is, and how many allocations there were. */
clp_status clp_pool_advise(const clp_pool *pool, clp_pool_advice *advice);

#ifdef __cplusplus
}
#endif

#endif
