/* SPDX-License-Identifier: MIT */
/* Memory objects as the program makes them. Defines the functions of a layer's table. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include <CL/cl_layer.h>

void clpi_create_fill(cl_icd_dispatch *functions);

#endif
