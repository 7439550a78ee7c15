/* SPDX-License-Identifier: MIT */
/* The inside of the fake driver. One lock guards everything; one condition is signalled whenever a
 * stream got on. Functions that end in _locked need the lock held. */
#ifndef FAKE_H
#define FAKE_H

#include "fakecuda.h"

#include <pthread.h>

enum { FAKE_MOST_STREAMS = 128 };

/* --- calls of the driver: calls.c --- */

#define FAKE_ENUMERATOR(name, suffix, version, parameters) FAKE_##name,
typedef enum fake_call { FAKECUDA_FUNCTIONS(FAKE_ENUMERATOR) FAKE_CALLS } fake_call;

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_progress;

/* Takes the lock until the function returns. */
#define FAKE_LOCK                                                                                  \
  pthread_mutex_t *const fake_locked_ __attribute__((cleanup(fake_leave), unused)) = &fake_lock;   \
  pthread_mutex_lock(fake_locked_)
void fake_leave(pthread_mutex_t *const *lock);

/* Returns what the call gives, if that is no success. */
#define FAKE_TRY(call)                                                                             \
  if ((code = (call)) != CLPI_CUDA_SUCCESS)                                                        \
  return code

/* Each call of the driver's begins with this: it takes the lock, and returns at once with what the
 * call is to fail. */
#define FAKE_ENTER(name)                                                                           \
  FAKE_LOCK;                                                                                       \
  CUresult code;                                                                                   \
  FAKE_TRY(fake_begin_call_locked(FAKE_##name))
CUresult fake_begin_call_locked(fake_call call);

/* Tells what the caller did wrong, with the lock held. Returns `code`, if the program goes on. */
CUresult fake_wrong(CUresult code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory of the fake's own, zeroed; the program ends where there is none. */
void *fake_new(size_t bytes);

/* Whether cuInit succeeded, which stays over a reset. */
extern bool fake_initialized;

/* True on a stream's thread while it runs a host function. */
extern _Thread_local bool fake_in_host_function;

/* --- devices and contexts: devices.c --- */

typedef struct fake_device {
  size_t taken;
  CUcontext primary;
  CUmemoryPool default_mempool, mempool; /* NULL: not asked for yet */
} fake_device;
extern fake_device fake_devices[FAKECUDA_MOST_DEVICES];

/* Whether there is such a device. */
CUresult fake_device_locked(CUdevice device);

struct CUctx_st {
  CUdevice device;
  bool primary, alive;
  unsigned retains; /* of a primary context */
  /* Its default streams; NULL: not used yet. One is enough for all threads: no call of the library
   * depends on it. */
  CUstream legacy, per_thread;
  CUcontext next;
};

/* The calling thread's current context. A violation: there is none, or it is no more. */
CUresult fake_current_locked(CUcontext *ctx);
void fake_contexts_reset_locked(void);

/* --- order, streams: streams.c --- */

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

typedef struct fake_command fake_command;
struct fake_command {
  fake_point after;          /* not before this is done */
  unsigned char *to;         /* NULL: nothing is filled or copied */
  const unsigned char *from; /* NULL: all are `byte` */
  unsigned char byte;
  size_t bytes;
  CUhostFn host_function; /* NULL: none; runs without the lock */
  void *user_data;
  fake_command *next;
};

typedef struct fake_capture {
  clpi_cuda_capture_status status;
  clpi_cuda_capture_mode mode;
  pthread_t thread; /* that began it */
} fake_capture;

typedef enum fake_stream_state { FAKE_UNUSED, FAKE_LIVE, FAKE_ENDING } fake_stream_state;

struct CUstream_st {
  CUcontext ctx;
  fake_stream_state state;
  bool is_default;
  bool blocking; /* is ordered with the legacy stream */
  bool held, has_thread;
  fake_capture capture;
  pthread_t thread;
  fake_command *first, **end;
  uint64_t given, done;
  fake_clock clock; /* what all further commands come after */
};

extern struct CUstream_st fake_streams[FAKE_MOST_STREAMS];
#define fake_each_stream(it)                                                                       \
  for (CUstream it = fake_streams; it < fake_streams + FAKE_MOST_STREAMS; it++)

/* Makes a handle the stream, also for the default streams. A violation: there is none. */
CUresult fake_stream_locked(CUstream *handle);

/* Ends the context's streams and events: streams take no more commands, and do those they have. */
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

/* For a call that CUDA thinks unsafe, or one that waits for a context (not NULL): if it must not be
 * made now, the captures that forbid it are invalid, and the code is that of the call. */
CUresult fake_end_captures_locked(const struct CUctx_st *ctx);

/* As fake_stream_locked; a violation also: the stream is being captured. */
CUresult fake_uncaptured_locked(CUstream *handle);

/* --- memory pools: mempools.c, memory.c --- */

struct CUmemPoolHandle_st {
  bool alive, is_default, imported;
  clpi_cuda_mempool_props props;
  int fd; /* the file that its memory is in */
  uint64_t file_end;
  int reuse[3]; /* follow events, opportunistic, internal dependencies */
  uint64_t threshold, reserved, reserved_high, used, used_high;
  clpi_cuda_access_flags access[FAKECUDA_MOST_DEVICES];
  CUmemoryPool next;
};

/* A violation: the handle is none, or no more. */
CUresult fake_mempool_locked(CUmemoryPool handle);
CUmemoryPool fake_mempool_new_locked(const clpi_cuda_mempool_props *props);

/* Makes the device's default memory pool, if it has none yet. */
CUresult fake_default_mempool_locked(CUdevice device);

/* The device whose memory it takes; -1: none's. */
int fake_mempool_device(const struct CUmemPoolHandle_st *mempool);

/* Gives free memory back while that leaves at least `keep` bytes. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep);

/* What a synchronization does to all pools. */
void fake_mempools_settle_locked(void);
void fake_mempools_reset_locked(void);
void fake_memory_reset_locked(void);

#endif
