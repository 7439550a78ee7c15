/* SPDX-License-Identifier: MIT */
/* The CUDA devices of this machine, as clpool info shows them. */
#ifndef CLPOOL_TOOLS_CUDA_DEVICES_H
#define CLPOOL_TOOLS_CUDA_DEVICES_H

#include "json.h"

/* Each tells the driver's version and the devices, or why there are none. */
void clpi_cuda_devices_print(void);
void clpi_cuda_devices_write(clpi_json *json);

#endif
