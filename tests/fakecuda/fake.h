/* SPDX-License-Identifier: MIT */
/* The inside of the fake driver. One lock guards everything; one condition is signalled whenever a
 * stream got on. Functions that end in _locked need the lock held. */
#ifndef FAKE_H
#define FAKE_H

#include "fakecuda.h"

#include <pthread.h>

enum { FAKE_MOST_DEVICES = 8, FAKE_MOST_STREAMS = 128, FAKE_ALIGNMENT = 512 };

/* --- calls of the driver: calls.c --- */

#define FAKE_ENUMERATOR(name, suffix, version, parameters) FAKE_##name,
typedef enum fake_call { FAKECUDA_FUNCTIONS(FAKE_ENUMERATOR) FAKE_CALLS } fake_call;
#undef FAKE_ENUMERATOR

typedef struct fake_function {
  const char *name; /* without the suffix */
  int version;
  void (*address)(void);
} fake_function;

extern const fake_function fake_functions[FAKE_CALLS];

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_progress;

/* Takes the lock until the function returns. */
#define FAKE_LOCK                                                                                  \
  pthread_mutex_t *const fake_locked_ __attribute__((cleanup(fake_leave), unused)) = &fake_lock;   \
  pthread_mutex_lock(fake_locked_)
void fake_leave(pthread_mutex_t *const *lock);

/* Each call of the driver's begins with this: it takes the lock, and returns at once with what the
 * call is to fail. */
#define FAKE_ENTER(name)                                                                           \
  FAKE_LOCK;                                                                                       \
  CUresult code = fake_begin_call_locked(FAKE_##name);                                             \
  if (code)                                                                                        \
  return code
CUresult fake_begin_call_locked(fake_call call);

/* Tells what the caller did wrong. Returns `code`, if the program goes on. */
CUresult fake_violation_locked(CUresult code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether cuGetProcAddress shall not find it. */
bool fake_is_hidden_locked(const char *name);

/* Memory of the fake's own, zeroed; the program ends where there is none. */
void *fake_new(size_t bytes);

/* The driver's version, and whether cuInit succeeded, which stays over a reset. */
extern int fake_version;
extern bool fake_initialized;
extern fakecuda_defect fake_defect;

/* True on a stream's thread while it runs a host function. */
extern _Thread_local bool fake_in_host_function;

/* --- devices: devices.c --- */

typedef struct fake_device {
  size_t bytes, taken;
  bool mempools;
  int handle_types;
  struct CUctx_st *primary;
  CUmemoryPool default_mempool, mempool; /* NULL: not asked for yet */
} fake_device;

extern fake_device fake_devices[FAKE_MOST_DEVICES];
extern bool fake_host_numa;

/* NULL: there is no such device. */
fake_device *fake_device_locked(CUdevice device);
bool fake_can_access_locked(CUdevice device, CUdevice memory);
void fake_devices_reset_locked(void);

/* --- contexts: contexts.c --- */

struct CUctx_st {
  CUdevice device;
  bool primary, alive;
  unsigned retains; /* of a primary context */
  CUstream legacy;  /* NULL: not used yet */
  CUcontext next;
};

/* The calling thread's current context; NULL, and a violation: there is none, or it is no more. */
CUcontext fake_current_locked(void);
void fake_contexts_reset_locked(void);

/* --- order, events: events.c --- */

/* The place in a stream after so many commands. Positions never fall, not even where a new stream
 * takes the place of one that ended. No stream: the beginning of all. */
typedef struct fake_point {
  CUstream stream;
  uint64_t position;
} fake_point;

/* What is known to be done: of each stream, commands up to that position. */
typedef struct fake_clock {
  uint64_t of[FAKE_MOST_STREAMS];
} fake_clock;

/* What the host has waited for, or asked whether it is done, and heard that it is: frees there are
 * final. */
extern fake_clock fake_observed;

void fake_clock_join(fake_clock *clock, const fake_clock *other);
bool fake_clock_has(const fake_clock *clock, fake_point point);
bool fake_is_done_locked(fake_point point);

/* The host has waited for all this: pools also give back what is over their release threshold. */
void fake_synchronized_locked(const fake_clock *clock);

void fake_events_end_of_locked(const struct CUctx_st *ctx);
void fake_events_reset_locked(void);

/* --- streams: streams.c --- */

typedef struct fake_command fake_command;

struct fake_command {
  fake_point after;                          /* not before this is done */
  void (*run_locked)(fake_command *command); /* NULL: nothing */
  CUhostFn host_function;                    /* NULL: none; runs without the lock */
  void *user_data;
  fake_clock *known; /* what the host knows once the host function runs; the command's */
  unsigned char *to; /* for run_locked */
  const unsigned char *from;
  unsigned char byte;
  size_t bytes;
  fake_command *next;
};

typedef struct fake_capture {
  clpi_cuda_capture_status status;
  clpi_cuda_capture_mode mode;
  pthread_t thread; /* that began it */
} fake_capture;

typedef enum fake_stream_state { FAKE_UNUSED, FAKE_LIVE, FAKE_ENDING } fake_stream_state;
typedef enum fake_stream_kind { FAKE_CREATED, FAKE_LEGACY, FAKE_PER_THREAD } fake_stream_kind;

struct CUstream_st {
  CUcontext ctx;
  fake_stream_state state;
  fake_stream_kind kind;
  bool blocking; /* is ordered with the legacy stream */
  bool held, has_thread;
  unsigned long owner; /* of a per-thread stream: the thread's number */
  fake_capture capture;
  pthread_t thread;
  fake_command *first, **end;
  uint64_t given, done;
  uint64_t ended;   /* when, in a count of endings; for which place to use next */
  fake_clock clock; /* what all further commands come after */
};

extern struct CUstream_st fake_streams[FAKE_MOST_STREAMS];

/* The stream of that handle, also for the default streams; NULL, and a violation: there is none.
 * The code that the call then returns is in *code. */
CUstream fake_stream_locked(CUstream handle, CUresult *code);

/* A new stream; NULL, and a violation: there are too many. */
CUstream fake_stream_new_locked(CUcontext ctx, fake_stream_kind kind, bool blocking);

/* Takes no more commands, and ends when it has done those it has. */
void fake_stream_end_locked(CUstream stream);
void fake_streams_end_of_locked(const struct CUctx_st *ctx);

/* Before anything is given to a stream, or checked for it: orders it with the legacy stream, and
 * after what the host has observed. */
void fake_begin_locked(CUstream stream);

/* Gives it a copy of the command. Returns the position at which it will be done. */
uint64_t fake_give_locked(CUstream stream, const fake_command *command);

/* Makes all further commands wait. */
void fake_wait_for_locked(CUstream stream, fake_point point, const fake_clock *clock);

/* Waits on the host, without the lock meanwhile. */
void fake_reach_locked(fake_point point);
void fake_reach_all_locked(const struct CUctx_st *ctx);

void fake_streams_finish_locked(void);
void fake_streams_reset_locked(void);

/* --- stream capture: capture.c --- */

/* For a call that CUDA thinks unsafe, and one that waits for a context: if it must not be made now,
 * the captures that forbid it are invalid, and the code is that of the call. */
CUresult fake_unsafe_locked(void);
CUresult fake_capture_of_context_locked(const struct CUctx_st *ctx);

/* As fake_stream_locked; NULL and a violation also: the stream is being captured. */
CUstream fake_uncaptured_locked(CUstream handle, CUresult *code);
void fake_capture_reset_locked(void);

/* --- memory: segments.c, uses.c --- */

typedef enum fake_range_state { FAKE_FREE, FAKE_IN_USE, FAKE_FREED } fake_range_state;

/* A stream's last use of a part of an allocation. */
typedef struct fake_use fake_use;
struct fake_use {
  size_t offset, bytes; /* in the range */
  bool writes;
  fake_point point;
  fake_use *next;
};

/* A part of a segment: an allocation, one that was freed on a stream, or neither. */
typedef struct fake_range fake_range;
struct fake_range {
  size_t offset, bytes, asked;
  fake_range_state state;
  fake_point point; /* in use: where it was allocated; freed: where it was freed */
  fake_use *uses;
  fake_range *next;
};

/* Memory that was taken from a device. Its device addresses cannot be touched; the same bytes are
 * at `bytes_at` for the streams' commands. */
typedef struct fake_segment fake_segment;
struct fake_segment {
  CUmemoryPool mempool; /* NULL: it is of cuMemAlloc */
  int device;           /* whose memory it takes; -1: none's */
  bool imported;
  unsigned char *device_address, *bytes_at;
  size_t bytes;
  int fd; /* what is mapped; a mempool's, or the segment's own */
  uint64_t file_offset;
  fake_range *ranges;
  fake_segment *next;
};

extern fake_segment *fake_segments;

/* A segment that is one free range. NULL: the device or the host has not so much. */
fake_segment *fake_segment_new_locked(CUmemoryPool mempool, int device, size_t bytes);

/* Maps the part of the file that `wanted` names. NULL: it cannot. */
fake_segment *fake_segment_add_locked(const fake_segment *wanted);
void fake_segment_delete_locked(fake_segment *segment);

/* The segment and the range that the address is in; false: in none. */
bool fake_find_locked(CUdeviceptr pointer, fake_segment **segment, fake_range **range);
CUdeviceptr fake_address(const fake_segment *segment, const fake_range *range);

/* Makes the first `bytes` of a range an allocation; what is left stays as it is. */
void fake_range_take(fake_range *range, size_t bytes, size_t asked, fake_point born);
void fake_range_free(fake_range *range, fake_range_state state, fake_point point);

/* Frees that the host knows of are final; neighbours become one. */
void fake_segment_settle_locked(fake_segment *segment);
void fake_segments_reset_locked(void);

/* The fake's address of memory that the stream uses from here on, having noted the use; NULL, and a
 * violation: it must not. */
unsigned char *fake_use_locked(CUstream stream, CUdeviceptr pointer, size_t bytes, bool writes);

/* Whether all uses come before what the clock has; else a violation. */
bool fake_uses_precede_locked(const fake_range *range, const fake_clock *clock);
void fake_uses_drop(fake_range *range);

/* --- memory pools: mempools.c, mempool_memory.c, sharing.c --- */

struct CUmemPoolHandle_st {
  bool alive, is_default, imported;
  clpi_cuda_mempool_props props;
  int fd; /* -1: none yet */
  uint64_t file_end;
  int reuse[3]; /* follow events, opportunistic, internal dependencies */
  uint64_t threshold, reserved, reserved_high, used, used_high;
  clpi_cuda_access_flags access[FAKE_MOST_DEVICES];
  CUmemoryPool next;
};

/* NULL, and a violation: the handle is none, or no more. */
CUmemoryPool fake_mempool_locked(CUmemoryPool handle);
CUmemoryPool fake_mempool_new_locked(const clpi_cuda_mempool_props *props);

/* The device, with its default memory pool made. */
CUresult fake_default_mempool_locked(CUdevice device, fake_device **found);

/* The device whose memory it takes; -1: none's. */
int fake_mempool_device(const struct CUmemPoolHandle_st *mempool);

/* The file behind it, made when it is first needed; -1: it cannot be. */
int fake_mempool_file_locked(CUmemoryPool mempool);

/* A range for an allocation on the stream, which waits for another stream where it must; NULL:
 * there is no memory. */
CUresult fake_mempool_take_locked(CUmemoryPool mempool, size_t bytes, CUstream stream,
                                  CUdeviceptr *pointer);
size_t fake_rounded(size_t bytes, size_t to);

/* Gives free segments back while that leaves at least `keep` bytes. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep);

/* What a synchronization does to all pools. */
void fake_mempools_settle_locked(void);
void fake_mempools_reset_locked(void);

#endif
