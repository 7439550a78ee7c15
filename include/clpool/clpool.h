/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/clpool.h - everything that needs no backend. For OpenCL, also include clpool/opencl.h.
 *
 * Conventions. Functions that can fail return a clp_status; results go to out-pointers, written
 * only on success (an object out-pointer is NULL on failure), and clp_last_error() says more. An
 * out-pointer hands over ownership, a returned pointer is borrowed. Every function may be called
 * from any thread at any time. Options and results are structs that begin with their size, so that
 * both sides can grow: fill it with the struct's _INIT macro or sizeof; NULL options mean the
 * defaults. The library prints nothing, never exits, installs no signal handlers and reads the
 * environment only through the variables that these headers name. */
#ifndef CLPOOL_CLPOOL_H
#define CLPOOL_CLPOOL_H

#include <clpool/allocator.h>
#include <clpool/arena.h>
#include <clpool/bin.h>
#include <clpool/buffer.h>
#include <clpool/hook.h>
#include <clpool/log.h>
#include <clpool/pool.h>
#include <clpool/profile.h>
#include <clpool/status.h>
#include <clpool/trace.h>
#include <clpool/version.h>

#endif
