/* SPDX-License-Identifier: MIT */
/* The program's contexts and queues, and the memory of a context by a queue of the layer's own,
 * whose work never waits for the program. Any thread. */
#ifndef CLPOOL_LAYER_CHECK_CONTEXT_H
#define CLPOOL_LAYER_CHECK_CONTEXT_H

#include "core/base/list.h"

#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_check_context {
  cl_context handle;
  atomic_size_t references; /* the program's */
  atomic_size_t users;      /* memory and queues that are known, and one for the references */
  pthread_mutex_t lock;     /* guards what follows */
  clpi_list queues;
  bool was_awaited, is_idle; /* at the end of the process */
  cl_command_queue own;
  cl_mem staging; /* the host reads memory through it, since it must not read all buffers */
} clpi_check_context;

/* Stays when the program has released it, until the driver gives its handle to another queue. */
typedef struct clpi_check_queue {
  cl_command_queue handle;
  clpi_check_context *context; /* NULL: it is released, and its work is done */
  atomic_size_t references;    /* the program's */
  atomic_bool has_work;        /* that has not been waited for */
  clpi_list link;
} clpi_check_queue;

/* The program made a context, or a queue. */
void clpi_check_add_context(cl_context handle);
void clpi_check_add_queue(cl_context context, cl_command_queue handle);

/* NULL: it is not known. */
clpi_check_context *clpi_check_find_context(cl_context handle);
clpi_check_queue *clpi_check_find_queue(cl_command_queue handle);

/* What is known of a context goes with its last user. */
void clpi_check_drop_user(clpi_check_context *context);

/* Drops a reference of the program's. The driver's last one goes when all work is done. Returns how
 * many there were. */
size_t clpi_check_drop_queue(clpi_check_queue *queue);

/* Whether this thread is in a callback of an event. Such a thread does not wait, since the work may
 * wait for the callback's end. */
extern _Thread_local bool clpi_check_is_called_back;

/* Waits until what is queued is done. False: some of it failed, or it takes long, and may wait for
 * the program. The wait is 2 s at most, and less after waits in vain. */
bool clpi_check_await(cl_command_queue queue);
bool clpi_check_await_all(clpi_check_context *context); /* all queues; ends those released */

/* Not once the program may do what cannot be seen, by a function of an extension's, a queue or a
 * kernel of which nothing is known. */
extern atomic_bool clpi_check_sees_all;

struct clpi_checked;

/* Fills memory with what another buffer has, or if that is NULL with a byte, and its zone with a
 * byte. Negative: not at all. Done on return. False: the driver refuses it. */
bool clpi_check_fill(const struct clpi_checked *memory, cl_mem source, int byte, int zone_byte);

/* Counts the bytes of a range that are others than this one, and sets the offset of the first. 0 if
 * it cannot be read. */
size_t clpi_check_compare(const struct clpi_checked *memory, size_t offset, size_t bytes, int byte,
                          size_t *first);

/* Gives it back to the driver. */
void clpi_check_free(const struct clpi_checked *memory);

#endif
