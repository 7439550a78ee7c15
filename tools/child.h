/* SPDX-License-Identifier: MIT */
/* Another program, run as if it stood in our place: signals for us reach it, and we end as it did.
 */
#ifndef CLPOOL_TOOLS_CHILD_H
#define CLPOOL_TOOLS_CHILD_H

/* Runs argv[0], looked for as a shell does, and waits for its end. An exit code of ours after a
 * complaint if it cannot be run: 127 if there is none, else 126, as shells have it. `*status` is
 * how it ended. */
int clpi_child_run(char **argv, int *status);

/* The exit code of a child that ended with `status`, as waitpid has it. If a signal ended the
 * child, the same signal ends this process. */
int clpi_child_end_likewise(int status);

#endif
