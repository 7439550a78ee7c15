/* SPDX-License-Identifier: MIT */
/* Pooled buffers and images. The program's cl_mem is the pool's block itself. The driver sees one
 * reference to it. The layer counts the program's references, and one for each part: a sub-buffer
 * or an image over it, which is an object of the driver. When all are gone, the block is the
 * pool's, and the program must not use its handle until it is handed out again. Any thread. */
#ifndef CLPOOL_LAYER_BUFFER_H
#define CLPOOL_LAYER_BUFFER_H

#include "mem.h"
#include "watch.h"

/* The calls with which the program makes memory, for clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* clReleaseMemObject. */
cl_int clpi_mem_release(clpi_mem *mem);

/* The program maps it. */
void clpi_mem_map(cl_mem handle);

/* Writes what became of the calls that make memory, and what memory they took. */
void clpi_report(void);

#endif
