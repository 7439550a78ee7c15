/* SPDX-License-Identifier: MIT */
/* Processes that run with CLPOOL_TRACE set, and the files they leave. The variable is read once, so
 * each is a process of its own. Link with fopen and pthread_atfork wrapped. */
#ifndef CLPT_TRACED_PROCESS_H
#define CLPT_TRACED_PROCESS_H

#include "suite.h"
#include "trace/replay.h"

#include <clpool/clpool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define TRACED_VARIABLE "CLPOOL_TRACE"

/** A test case, of which each test has an empty folder, which is removed with what is in it. */
TCase *traced_case(Suite *suite, const char *name);
extern char traced_folder[64];

/** The path of a file in the folder, until the next call. */
const char *traced_path_of(const char *name);
bool traced_exists(const char *name);
size_t traced_files_in_folder(void);

/** How many descriptors of this process are of files in the folder. */
size_t traced_open_in_folder(void);

/** Replays a file, so it is well-formed and makes sense. */
trace_replay_result traced_replay(const char *name);

/** Asserts that a file is well-formed, makes sense, and has so many rows. */
void traced_assert_trace(const char *name, uint64_t allocations, uint64_t frees);

/** For what is asserted in them, where Check cannot be used. */
#define traced_require(condition)                                                                  \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: does not hold: %s (%s)\n", __LINE__, #condition,                   \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

/** Forks: the child does the work and exits. Its id. */
pid_t traced_spawn(void (*work)(void));
bool traced_succeeds(pid_t id);

/** A process with the variable set to a file of that name in the folder. */
pid_t traced_run(const char *name, void (*work)(void));

/** What processes do. Static, for what they leave to their end is no leak. */
extern clp_allocator *traced_allocator;
extern clp_pool *traced_pool;
extern clp_buffer *traced_buffers[8];
void traced_make_pool(void);
void traced_end_pool(void);

/** Allocates `count` blocks of that many bytes, or releases them. */
void traced_allocate(size_t count, size_t bytes);
void traced_release(size_t count);

/** A pool that is made, used and ended. */
void traced_use_one_pool(void);

/** What fopen does first, as that of a file far away waits; NULL: nothing. */
extern void (*traced_before_fopen)(void);

/** How many calls of pthread_atfork succeed until all fail, as without memory. */
extern int traced_atforks;

#endif
