/* SPDX-License-Identifier: MIT */
/* A driver of OpenCL that does as a test says: how far its queues are, how much memory it has, what
 * it refuses. Memory comes with the first work that uses it, and is free again once its buffer is
 * released and that work is done. It has one device, one context, and no shared virtual memory. */
#ifndef CLPT_FAKE_DRIVER_H
#define CLPT_FAKE_DRIVER_H

#include "support/suite.h"

#include <CL/cl_icd.h>

#define FAKE_DEVICE_BYTES ((size_t)1 << 32)

enum { MOST_MEMS = 16384, MOST_EVENTS = 65536, MOST_QUEUES = 4 };

/* Each object begins with its references. */
typedef struct fake_queue {
  int references;
  uint64_t given, done; /* commands */
  bool is_stuck;        /* its work waits for the program */
  bool has_failed;      /* in all that it was given */
  cl_command_queue_properties properties;
} fake_queue;

typedef struct fake_mem {
  int references;
  size_t bytes;
  cl_uint maps;
  fake_queue *user; /* NULL: no memory yet */
  uint64_t position;
  void(CL_CALLBACK *at_end)(cl_mem, void *);
} fake_mem;

typedef struct fake_event {
  int references;
  fake_queue *of;
  uint64_t position;
} fake_event;

typedef struct fake_driver {
  int references; /* of the context */
  fake_queue queues[MOST_QUEUES];
  fake_mem mems[MOST_MEMS];
  fake_event events[MOST_EVENTS];
  size_t queue_count, mem_count, event_count;
  size_t capacity;       /* bytes; 0: no end of memory */
  unsigned fills, looks; /* at events */
  cl_uint waits;         /* in the wait list of the latest fill */
  cl_int fill_code;      /* what fills say, if not CL_SUCCESS */
  unsigned refusals;     /* of buffers to come */
  cl_int refusal_code;
  cl_uint more_devices; /* than one that the context says it has */
  unsigned fails_at;    /* which of the calls that a layer itself needs fails; 0: none */
  /* Each runs once, on a thread of its own: in the next fill, if it has memory or if it lacks it,
   * or when an event is waited for. */
  void *(*beside_fill)(void *), *(*beside_lack)(void *), *(*callback)(void *);
} fake_driver;
extern fake_driver driver;

static const cl_device_id device = (cl_device_id)&driver.mems;
static const cl_context context = (cl_context)&driver;
extern const cl_icd_dispatch fake_functions;

/* Of buffers that have memory, and of those that have references. */
size_t fake_bytes_in_use(void);
size_t fake_bytes_of_blocks(void);

/* What another thread does meanwhile, once. */
void fake_run_beside(void *(**function)(void *));

#endif
