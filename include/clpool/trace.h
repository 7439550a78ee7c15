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
 * The trace is complete when the process ends by exit or by returning from main, or when the
 * library is closed (dlclose), even if pools still live then. Otherwise:
 *
 * - When it ends by a signal, _exit, quick_exit or abort, the last 64 KiB may be missing.
 * - exec keeps the process id, so the new program empties the file of the old one when it makes a
 *   pool, even with `%p`.
 * - A library that is closed and opened again does so, too, when it makes its first pool.
 * - Where the file is a pipe, a process must have it open to read: without one the first pool fails
 *   (CLP_IO_ERROR, ENXIO), and does not wait for one. Where the reader has left, SIGPIPE ends a
 *   program that does not ignore it.
 * - If something cannot be written, say because the disk is full, the trace ends there. The program
 *   goes on, and the log callback (clpool/log.h) gets one warning, but none if that happens while
 *   the process ends.
 *
 * Other processes: where the parent of a fork had made a pool, the child writes a file of its own
 * if the name has `%p`, and nothing if not; what it does with its copies of the parent's pools is
 * not written. Where the parent had made none, as with programs that fork their workers first, each
 * child writes as any process does: without `%p` they all write to one file, which cannot be read
 * then. Programs that it starts inherit the variable and do the same, emptying the file. So have
 * `%p` in the name if there are several processes.
 *
 * Format: the log of RMM's logging_resource_adaptor, CSV with the header
 * Thread,Time,Action,Pointer,Size,Stream and the actions allocate, allocate failure, free. Threads
 * have the numbers that the system gives them, the time is that of the day, UTC, and sizes are
 * bytes as requested. Where a pool had a name (clp_pool_options.name) when the first row was
 * written, one more column follows, Pool: the name of the row's pool, as CSV quotes it, cut at 64
 * bytes, between letters of UTF-8, and with blanks for control characters; empty where it has none.
 *
 * With CLPOOL_TRACE_STACKS=1 the trace of CLPOOL_TRACE has the call stack of each allocation, too:
 * a last column, Stack, and lines that define the frames (clpool-traces(5)). `clpool report` then
 * shows who allocated. An allocation takes up to 6 us more. Python's lines are there if
 * CPython 3.10 or newer is in the process and the thread holds the interpreter's lock. The first
 * pool fails (CLP_INVALID_ARGUMENT) if the variable is neither 0 nor 1.
 */
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
 * threads may use it at once. If a line cannot be written, say because the disk is full, the trace
 * ends there and the program goes on: the log callback (clpool/log.h) gets one warning, when an
 * operation or clp_trace_hook_flush finds out, and clp_trace_hook_flush and clp_trace_hook_destroy
 * return CLP_IO_ERROR. A file at `path` then ends with a whole line, one of the caller's perhaps
 * within a line. The hook's name is "trace"; to register several, give them names of their own.
 *
 * After fork the trace is the parent's: in the child the hook records nothing any more, and
 * flushing or destroying it writes nothing.
 *
 * The trace can be replayed wherever and whenever the hook was registered: a free of memory whose
 * allocation it did not see is left out, and memory whose free it did not see is written as freed
 * when it is allocated again. Memory is known by its address. No two of the built-in allocators
 * give the same address in one process, so one trace serves pools on all of them; allocators of the
 * program's own whose devices share addresses need a trace each.
 *
 * `*out` is the caller's until clp_trace_hook_destroy; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, both or none of path and file. CLP_IO_ERROR: the file cannot be
 * opened; native_code is errno, ENXIO for a pipe that no process reads, which is not waited for.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out);

/** Writes the buffered rows of all operations that have returned. NULL is a no-op. Any thread.
 * CLP_IO_ERROR: as clp_trace_hook_destroy. */
clp_status clp_trace_hook_flush(clp_hook *hook);

/** Writes what is buffered and ends the hook, which must not be registered anywhere any more. It
 * ends on failure, too. NULL is a no-op. Any thread. CLP_IO_ERROR: not all could be written;
 * native_code is the first errno, or ENOMEM where host memory was missing to keep track of what is
 * allocated. */
clp_status clp_trace_hook_destroy(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
