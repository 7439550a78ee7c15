/* SPDX-License-Identifier: MIT */
/* Another program, run as if it stood in our place: signals for us reach it, and we end as it did.
 */
#ifndef CLPOOL_TOOLS_CHILD_H
#define CLPOOL_TOOLS_CHILD_H

/* How it ended, as waitpid tells. */
typedef struct clpi_child_end {
  int status;
} clpi_child_end;

/* Runs argv[0], looked for as a shell does, and waits for its end. An exit code of ours after a
 * complaint if it cannot be run: 127 if there is none, else 126, as shells have it. */
int clpi_child_run(char **argv, clpi_child_end *end);

/* The exit code of the child. Where a signal ended it, the same signal ends this process. */
int clpi_child_end_likewise(const clpi_child_end *end);

#endif
