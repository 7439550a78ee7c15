/* SPDX-License-Identifier: MIT */
/* A map from handles of OpenCL's objects to the layer's data. A search takes no lock, because each
 * call of the program that names an object begins with one. Any thread. */
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

/* Returns the value of a handle. NULL: there is none. If another thread removes the handle
 * meanwhile, it returns either, or the value of a handle that was added then. */
void *clpi_handles_find(clpi_handles *handles, const void *handle);

/* Adds a handle, which must not be in the map. False: no host memory. */
bool clpi_handles_put(clpi_handles *handles, const void *handle, void *value);

/* Removes a handle. Returns its value, or NULL. */
void *clpi_handles_take(clpi_handles *handles, const void *handle);

#endif
