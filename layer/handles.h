/* SPDX-License-Identifier: MIT */
/* What is known about OpenCL's objects, by their handles. A look takes no lock: each call of the
 * program's that names an object begins with one. Any thread. */
#ifndef CLPOOL_LAYER_HANDLES_H
#define CLPOOL_LAYER_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_handles {
  pthread_mutex_t lock;                        /* guards changes */
  _Atomic(struct clpi_handle_table *) current; /* NULL: empty */
} clpi_handles;

#define CLPI_HANDLES_INIT                                                                          \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, NULL                                                                \
  }

/* What was put under the handle; NULL: nothing. A program that looks for an object while another of
 * its threads ends it may get either. */
void *clpi_handles_find(clpi_handles *handles, const void *handle);

/* The handle must not be there. False: no host memory. */
bool clpi_handles_put(clpi_handles *handles, const void *handle, void *value);

/* Removes a handle. Returns what was there, or NULL. */
void *clpi_handles_take(clpi_handles *handles, const void *handle);

#endif
