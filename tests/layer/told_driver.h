/* SPDX-License-Identifier: MIT */
/* An OpenCL driver that does as it is told: how far its queues are, how much memory it has, what it
 * refuses. Memory comes with the first work that uses it, and is free again once its buffer is
 * released and that work is done. It has one device, one context, and no shared virtual memory. */
#ifndef CLPT_LAYER_TOLD_DRIVER_H
#define CLPT_LAYER_TOLD_DRIVER_H

#include "support/suite.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define DEVICE_BYTES ((size_t)1 << 32)

enum { MOST_MEMS = 16384, MOST_EVENTS = 65536, MOST_QUEUES = 4 };

/* Each object begins with its references. */
typedef struct queue {
  int references;
  uint64_t given, done; /* commands */
  bool is_stuck;        /* its work waits for the program */
  bool has_failed;      /* in all that it was given */
  cl_command_queue_properties properties;
} queue;

typedef struct mem {
  int references;
  size_t bytes;
  cl_uint maps;
  queue *user; /* NULL: no memory yet */
  uint64_t position;
  void(CL_CALLBACK *at_end)(cl_mem, void *);
} mem;

typedef struct event {
  int references;
  queue *of;
  uint64_t position;
} event;

typedef struct told_driver {
  int references; /* of the context */
  pthread_mutex_t lock;
  queue queues[MOST_QUEUES];
  mem mems[MOST_MEMS];
  event events[MOST_EVENTS];
  size_t queue_count, mem_count, event_count;
  size_t capacity;       /* bytes; 0: no end of memory */
  unsigned fills, looks; /* at events */
  cl_uint waits;         /* in the wait list of the latest fill */
  cl_int fill_code;      /* what fills say, if not CL_SUCCESS */
  unsigned refusals;     /* of buffers to come */
  cl_int refusal_code;
  cl_uint more_devices; /* than one that the context says it has */
  /* Runs on a thread of its own in the next fill, if it has memory or if it lacks it, or when an
   * event is waited for; then it is NULL. */
  void *(*beside_fill)(void *), *(*beside_lack)(void *), *(*callback)(void *);
} told_driver;

extern told_driver driver;
extern const cl_icd_dispatch target; /* the driver's functions */
extern const cl_device_id device;    /* its only one */
extern const cl_context context;     /* and its only one */

/* Opens a layer by its name; then it begins on so many of the driver's functions. */
enum { ALL = sizeof(cl_icd_dispatch) / sizeof(void *) };
void *open_layer(const char *name);
cl_int init_layer(cl_uint function_count, const cl_icd_dispatch **functions);

/* Bytes of buffers that have memory; of those that have references. */
size_t bytes_in_use(void);
size_t bytes_of_blocks(void);

#endif
