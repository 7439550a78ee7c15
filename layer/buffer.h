/* SPDX-License-Identifier: MIT */
/* Pooled buffers and images. The program's cl_mem is the pool's block itself. The driver sees one
 * reference to it. The layer counts the program's references, and one for each part: a sub-buffer
 * or an image over it, which is an object of the driver. When all are gone, the block is the
 * pool's, and the program must not use its handle until it is handed out again. Any thread. */
#ifndef CLPOOL_LAYER_BUFFER_H
#define CLPOOL_LAYER_BUFFER_H

#include "context.h"
#include "mem.h"
#include "watch.h"

/* Whether the thread makes memory for a pool of the program (lib/opencl/under_layer.h). */
extern _Thread_local bool clpi_leaves_buffers;

/* Calls that run out of memory. The layer makes a call of the program again as long as this thread
 * or another one gives blocks of pools back. So a call fails only if it would fail without pools,
 * too. Before each attempt, the layer waits for the context's queues to finish with these blocks:
 * at most one second for a call, because their work may wait for the program. */
typedef struct clpi_attempt {
  uint64_t returned; /* how many blocks had gone back before the latest call */
  unsigned turns;    /* of waiting that are left */
} clpi_attempt;

/* Call it before the first call. */
clpi_attempt clpi_attempt_begin(void);

/* Returns whether the call, which failed with `code`, may succeed now. The context is
 * NULL if the layer does not know it. */
bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context);

/* The calls with which the program makes memory, for clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* clReleaseMemObject. */
cl_int clpi_mem_release(clpi_mem *mem);

/* The program maps it. */
void clpi_mem_map(cl_mem handle);

/* Writes what became of the calls that make memory, and what memory they took. */
void clpi_report(void);

#endif
