/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/trace.h - records a program's allocations for `clpool replay` and `clpool report`.
 *
 * To trace a program without changing it, set the environment variable CLPOOL_TRACE to a file name.
 * The library then traces every pool of the process to this file, including asynchronous pools of
 * CUDA (clpool/cuda.h).
 *
 *     CLPOOL_TRACE=trace.csv ./program
 *     CLPOOL_TRACE=rank-%p.csv mpirun ./program      one file for each process
 *
 * In the name, `%p` stands for the process id and `%%` for a percent sign; anything else after a
 * percent sign is an error. When the process makes its first pool, the library reads the variable,
 * and creates or empties the file. If it cannot, the call that makes the pool fails
 * (CLP_INVALID_ARGUMENT, CLP_IO_ERROR, CLP_OUT_OF_HOST_MEMORY) with a message that names the
 * variable. Set-user-ID programs ignore it.
 *
 * The trace is complete if the process ends by exit or by returning from main, or if the library is
 * closed (dlclose), even if pools still live then. Otherwise:
 *
 * - If the process ends by a signal, _exit, quick_exit or abort, the last 64 KiB may be missing.
 * - exec keeps the process id, so the new program empties the file of the old one when it makes a
 *   pool, even with `%p`.
 * - If the library is closed and opened again, it empties the file when it makes its first pool.
 * - If the file is a pipe, another process must have opened it for reading. Otherwise making the
 *   first pool fails at once (CLP_IO_ERROR, ENXIO). If the reader has gone, SIGPIPE ends the
 *   program, unless the program ignores the signal.
 * - If a write fails, for instance because the disk is full, the trace ends there, perhaps within a
 *   row. The program continues, and the log callback (clpool/log.h) gets one warning, but none if
 *   that happens while the process ends.
 *
 * Other processes:
 *
 * - Forks after the parent's first pool: if the name has `%p`, the child writes a file of its own,
 *   otherwise nothing. The library does not record what it does with its copies of the parent's
 *   pools.
 * - Forks before the parent's first pool, as in programs that fork their workers first: each child
 *   writes as any process does. Without `%p` they all write to one file, which is then unreadable.
 * - Programs that the process starts inherit the variable, and empty and write the file as well.
 *
 * So use `%p` in the name if there are several processes.
 *
 * Format: CSV, as in the log of RMM's logging_resource_adaptor (clpool-traces(5)). The header is
 * Thread,Time,Action,Pointer,Size,Stream, and the actions are allocate, allocate failure and free.
 * Threads have the system's numbers, times are the time of day in UTC, and sizes are in bytes as
 * requested.
 *
 * If a pool had a name (clp_pool_options.name) when the first row was written, there is another
 * column, Pool. It has the name of the row's pool, or nothing if the pool has none. The name is
 * quoted as in CSV, cut at 64 bytes between UTF-8 characters, and has spaces instead of control
 * characters.
 *
 * With CLPOOL_TRACE_STACKS=1, the trace of CLPOOL_TRACE also has the call stack of each allocation:
 * a last column, Stack, and lines that define the frames. `clpool report` then shows which code
 * allocated. Each allocation takes up to 6 us longer. Python's lines are included if CPython 3.10
 * or newer is in the process, and the thread holds the interpreter's lock. If the variable is
 * neither 0 nor 1, making the first pool fails (CLP_INVALID_ARGUMENT). */
#ifndef CLPOOL_TRACE_H
#define CLPOOL_TRACE_H

#include <clpool/hook.h>
#include <clpool/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a hook that writes a row for each allocation and free that it sees. It writes to the file
 * at `path`, which it creates or empties, or to `file`, which stays the caller's. Exactly one of
 * them must be NULL. The hook buffers rows. Several threads may use it at once. Its name is
 * "trace"; to register several such hooks, give them different names.
 *
 * If a write fails, for instance because the disk is full, the trace ends there and the program
 * continues:
 *
 * - The log callback (clpool/log.h) gets one warning, when an operation or clp_trace_hook_flush
 *   notices.
 * - clp_trace_hook_flush and clp_trace_hook_destroy return CLP_IO_ERROR.
 * - The file, at `path` or the caller's, may end within a row. clpool's readers leave that row out.
 *
 * After a fork, the trace is the parent's. In the child the hook records nothing, and flushing or
 * destroying it writes nothing.
 *
 * `clpool replay` can read the trace no matter where and when the hook was registered. The hook
 * leaves out a free of memory whose allocation it did not see. If it did not see the free, it
 * writes one when the same memory is allocated again. It identifies memory by its address. No two
 * of the built-in allocators give the same address in one process, so one trace serves pools on all
 * of them. If you write allocators whose devices share addresses, use one trace for each.
 *
 * `*out` is the caller's until clp_trace_hook_destroy; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, both or none of path and file.
 * CLP_IO_ERROR: the file cannot be opened; native_code is errno, and ENXIO for a pipe that no
 *   process reads. The call does not wait for a reader.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out);

/** Writes the buffered rows of all operations that have returned. NULL is a no-op. Any thread.
 * CLP_IO_ERROR: as clp_trace_hook_destroy. */
clp_status clp_trace_hook_flush(clp_hook *hook);

/** Writes the buffered rows and ends the hook, which must not be registered anywhere any more. The
 * hook ends even on failure. NULL is a no-op. Any thread.
 * CLP_IO_ERROR: not all rows could be written; native_code is the first errno, or ENOMEM if there
 *   was no host memory to keep track of the allocations. */
clp_status clp_trace_hook_destroy(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
