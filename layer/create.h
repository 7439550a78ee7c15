/* SPDX-License-Identifier: MIT */
/* The calls with which the program makes memory objects. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include "watch.h"

/* Makes a buffer or image; for clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* Sets the functions that make other memory objects. */
void clpi_create_fill(cl_icd_dispatch *functions);

#endif
