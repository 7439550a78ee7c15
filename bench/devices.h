/* SPDX-License-Identifier: MIT */
/* The OpenCL devices that the user wants. */
#ifndef BENCH_DEVICES_H
#define BENCH_DEVICES_H

#include "options.h"

#include <CL/cl.h>

/** Runs what there is to run on a device; false if that failed, which it has said. */
typedef bool bench_on_device(const bench_options *options, cl_device_id device, const char *name);

/** Runs it on the device that the user chose, or on all. `*devices` is how many there were. False:
 * it failed on one, and is over. */
bool bench_on_devices(const bench_options *options, bench_on_device *run, size_t *devices);

#endif
