/* SPDX-License-Identifier: MIT */
/* clpool/trace.h - a program's allocations, written down for `clpool replay` and `clpool report`.
 *
 * Format: the log of RMM's logging_resource_adaptor, CSV with the header
 * Thread,Time,Action,Pointer,Size,Stream and the actions allocate, allocate failure, free. Threads
 * have the numbers that the system gives them, the time is that of the day, UTC, and sizes are
 * bytes as asked for. */
#ifndef CLPOOL_TRACE_H
#define CLPOOL_TRACE_H

#include <clpool/hook.h>
#include <clpool/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A hook that writes what it is shown: to the file at `path`, which is made or emptied, or to
 * `file`, which stays the caller's; exactly one of them is not NULL. Lines are buffered. Several
 * threads may use it at once. What cannot be written, since a disk is full, is lost from the first
 * such line on, and told by clp_trace_hook_close; the program goes on. A file at `path` ends in a
 * whole line then, one of the caller's perhaps in a part of one. Its name is "trace"; whoever
 * registers several gives them names of their own.
 *
 * After fork it belongs to the parent: in the child it must be neither used nor closed, since both
 * would write what is buffered, and the child's threads would have the parent's numbers.
 *
 * What it writes can be replayed wherever it is registered, and when: a free of what was allocated
 * unseen is left out, and memory that was freed unseen is told as freed when it is allocated again.
 * Memory is told by its address, so pools whose devices use the same addresses (two simulated ones)
 * need a trace each.
 *
 * `*out` is the caller's until clp_trace_hook_close; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, both or none of path and file. CLP_IO_ERROR: the file cannot be
 * opened; native_code is errno. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out);

/** Writes what is buffered and ends the hook, which is registered nowhere any more, also where it
 * fails. NULL is a no-op. CLP_IO_ERROR: not all could be written; native_code is the first errno,
 * ENOMEM where there was no host memory to follow what is allocated. */
clp_status clp_trace_hook_close(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
