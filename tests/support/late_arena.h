/* SPDX-License-Identifier: MIT */
/** @file
 * The rig of late streams (support/late_rig.h) on an arena of small segments. */
#ifndef CLPT_LATE_ARENA_H
#define CLPT_LATE_ARENA_H

#include "support/late_rig.h"

#include <clpool/arena.h>

enum { CLPT_LATE_SEGMENT = 4096 }; /* bytes, the least of a segment */

/** Each way to free memory (clpt_late_freeing), where parts are told to the device; then each where
 * they are addresses. */
enum { CLPT_LATE_WAYS = 2 * CLPT_LATE_FREEINGS };

/** As clpt_late_rig_start_freeing, on an arena without slack. */
void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way);

/** As above, on a device whose parts must not overlap what streams still use. */
void clpt_late_arena_start_exclusive(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread);

/** As above, on `rig->device` as the test has set it up, with that slack. */
void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread,
                              double slack);

clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig);

/** What the device is like. */
typedef enum clpt_late_kind {
  CLPT_LATE_PARTS, /**< is told of parts */
  CLPT_LATE_ADDRESSES,
  CLPT_LATE_EXCLUSIVE,  /**< parts exclude each other */
  CLPT_LATE_ONE_THREAD, /**< the same, but one thread alone uses the arena */
  CLPT_LATE_ONE_THREAD_ADDRESSES,
  CLPT_LATE_KINDS
} clpt_late_kind;

enum { CLPT_LATE_SLOTS = 24, CLPT_LATE_MOST_STREAMS = 6, CLPT_LATE_STEPS = 150 };

/** Programs that use buffers as they may, of which much is left to chance. */
typedef struct clpt_late_program {
  clpt_late_rig rig;
  clp_stream streams[CLPT_LATE_MOST_STREAMS];
  unsigned count;  /**< of streams; set by the test, as the next four */
  bool uses_home;  /**< the device's home stream has work on new memory */
  size_t capacity; /**< of the device, which may refuse; 0: no bound */
  bool in_turn;    /**< a pass has one stream */
  bool is_plain;   /**< which alone uses its buffers, and nothing is trimmed */
  clp_buffer *buffers[CLPT_LATE_SLOTS];
  unsigned of[CLPT_LATE_SLOTS]; /**< each buffer's stream */
  clpt_chance chance, time;
} clpt_late_program;

void clpt_late_program_start(clpt_late_program *it, clpt_late_kind of, clpt_late_freeing freeing,
                             unsigned reuse_flags);
void clpt_late_program_end(clpt_late_program *it);

/** Releases the slot's buffer, or takes one on a stream. */
void clpt_late_program_toggle(clpt_late_program *it, unsigned slot, size_t bytes, unsigned stream);
void clpt_late_program_free_all(clpt_late_program *it);

/** CLPT_LATE_STEPS steps that are the same each time, but for the streams; then nothing is in use.
 */
void clpt_late_program_pass(clpt_late_program *it, unsigned number);

/** Forgets a stream and destroys it. Its handle comes back as another stream. */
void clpt_late_program_replace_stream(clpt_late_program *it, unsigned number);

#endif
