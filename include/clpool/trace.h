/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/trace.h - a program's allocations, written down for `clpool replay` and `clpool report`.
 *
 * Without a line of code: the environment variable CLPOOL_TRACE names a file, and then every pool
 * of the process is traced to it, asynchronous ones of CUDA (clpool/cuda.h) too.
 *
 *     CLPOOL_TRACE=trace.csv ./program
 *     CLPOOL_TRACE=rank-%p.csv mpirun ./program      one file for each process
 *
 * In the name, `%p` stands for the process id and `%%` for a percent sign; anything else behind a
 * percent sign is an error. The variable is read, and the file made or emptied, when the process
 * makes its first pool, which fails (CLP_INVALID_ARGUMENT, CLP_IO_ERROR, CLP_OUT_OF_HOST_MEMORY)
 * with a message that names the variable if that cannot be done. Set-user-ID programs ignore it.
 *
 * The trace is whole when the process ends by exit or by returning from main, or when the library
 * is closed (dlclose), also where pools still live then. Else:
 *
 * - When it ends by a signal, _exit, quick_exit or abort, the last 64 KiB may be missing.
 * - exec keeps the process id, so a program that makes pools empties the file of the one whose
 *   place it takes, with `%p` too.
 * - The same does a library that is closed and opened again, when it makes its first pool.
 * - Where the file is a pipe whose reader has left, SIGPIPE ends a program that does not ignore it.
 * - What cannot be written, since a disk is full, is lost from there on: the program goes on, and
 *   the log callback (clpool/log.h) is told once, as a warning. When that happens as the process
 *   ends, nobody is told.
 *
 * Other processes: the child of a fork whose parent had made a pool writes a file of its own if the
 * name has `%p`, and else nothing; nor does it write what its copies of the parent's pools do.
 * Where the parent had made none, as those that fork their workers first, each child writes as any
 * process does: without `%p` all to one file, which is none that can be read then. So do programs
 * that it starts, for they are told the variable, too, and empty the file. Whoever has several
 * processes should have `%p` in the name.
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
 * such line on; the program goes on. A warning goes to the log callback (clpool/log.h) when an
 * operation or clp_trace_hook_flush finds it, once; clp_trace_hook_flush and clp_trace_hook_destroy
 * tell it by their status. A file at `path` ends in a whole line then, one of the caller's perhaps
 * in a part of one. Its name is "trace"; whoever
 * registers several gives them names of their own.
 *
 * After fork the trace is the parent's: in the child the hook tells nothing any more, and to flush
 * or to close it writes nothing.
 *
 * What it writes can be replayed wherever it is registered, and when: a free of what was allocated
 * unseen is left out, and memory that was freed unseen is told as freed when it is allocated again.
 * Memory is told by its address. Those of the built-in allocators differ within a process, so one
 * trace does for pools on any of them; allocators of the program's own whose devices have the same
 * addresses need a trace each.
 *
 * `*out` is the caller's until clp_trace_hook_destroy; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, both or none of path and file. CLP_IO_ERROR: the file cannot be
 * opened; native_code is errno. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out);

/** Writes what is buffered so far, as far as it is rows of operations that have returned. NULL is a
 * no-op. Any thread. CLP_IO_ERROR: as clp_trace_hook_destroy. */
clp_status clp_trace_hook_flush(clp_hook *hook);

/** Writes what is buffered and ends the hook, which is registered nowhere any more, also where it
 * fails. NULL is a no-op. CLP_IO_ERROR: not all could be written; native_code is the first errno,
 * ENOMEM where there was no host memory to follow what is allocated. */
clp_status clp_trace_hook_destroy(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
