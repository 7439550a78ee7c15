/* SPDX-License-Identifier: MIT */
/* The calls with which the program makes memory. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include "watch.h"

/* For clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

#endif
