/* SPDX-License-Identifier: MIT */
/* OpenCL programs that know nothing of clpool, for the checks of the layers. */
#ifndef CLPT_LAYER_PROGRAM_H
#define CLPT_LAYER_PROGRAM_H

#include "support/chance.h"

#include <CL/cl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MOST_THREADS = 16 };

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s, line %d: %s is false\n", __FILE__, __LINE__, #condition);                        \
      fflush(stdout);                                                                              \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

extern cl_device_id device;

/* Else the call and its code are shown. */
void succeeded(const char *call, cl_int code);
cl_context open_context(void);
cl_command_queue open_queue(cl_context context, cl_command_queue_properties properties);

/* Runs this on so many threads, which get their numbers. */
void run_threads(size_t count, void *(*act)(void *number));

/* Sequences of calls, right and wrong ones; or on so many threads, of late ones. */
void random_calls(unsigned first, unsigned count, size_t threads);

#endif
