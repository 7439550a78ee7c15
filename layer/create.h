/* SPDX-License-Identifier: MIT */
/* The calls with which the program makes memory. Any thread. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include "watch.h"

/* For clpi_watcher.memory: makes it from the context's pool, or with the driver. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* Writes what became of these calls, and what memory they took. */
void clpi_report(void);

#endif
