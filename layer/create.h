/* SPDX-License-Identifier: MIT */
/* Memory objects as the program makes them. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include "watch.h"

/* A clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* Sets the functions that make other objects. */
void clpi_create_fill(cl_icd_dispatch *functions);

#endif
