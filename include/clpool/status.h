/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/status.h - what a call came to, and the calling thread's last failure. */
#ifndef CLPOOL_STATUS_H
#define CLPOOL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** The one list of statuses: X(name, value, message). */
#define CLP_STATUS_MAP(X)                                                                          \
  X(CLP_SUCCESS, 0, "success")                                                                     \
  X(CLP_INVALID_ARGUMENT, 1, "invalid argument")                                                   \
  X(CLP_OUT_OF_DEVICE_MEMORY, 2, "out of device memory")                                           \
  X(CLP_OUT_OF_HOST_MEMORY, 3, "out of host memory")                                               \
  X(CLP_LIMIT_EXCEEDED, 4, "the pool's memory limit is exceeded")                                  \
  X(CLP_NOT_SUPPORTED, 5, "not supported here")                                                    \
  X(CLP_ALREADY_RELEASED, 6, "already released")                                                   \
  X(CLP_BUSY, 7, "busy")                                                                           \
  X(CLP_NOT_FOUND, 8, "not found")                                                                 \
  X(CLP_IO_ERROR, 9, "input or output failed")                                                     \
  X(CLP_BACKEND_ERROR, 10, "the backend reported an error")

#define CLP_STATUS_ENUMERATOR(name, value, message) name = value,
/** What a call came to: CLP_STATUS_MAP lists the values, with a message for each. */
typedef enum clp_status { CLP_STATUS_MAP(CLP_STATUS_ENUMERATOR) } clp_status;
#undef CLP_STATUS_ENUMERATOR

/** A failure, as clp_last_error tells it. */
typedef struct clp_error {
  clp_status status; /**< what the failing call returned; CLP_SUCCESS before any failure */
  int native_code;   /**< the backend's own code (cl_int, CUresult, errno), 0 where there is none */
  const char *message; /**< one sentence with the figures that matter, where byte counts are digits;
                            where the host had no memory for it, clp_status_message(status) */
} clp_error;

/** The calling thread's last failure in this library.
 *
 * Never NULL and never allocates, so it cannot fail. A call that succeeds leaves it as it was,
 * whatever failed on the way. The object and its message are borrowed and hold until the thread's
 * next call that may fail, or its end. */
const clp_error *clp_last_error(void);

/** Sets the calling thread's last failure: for allocators of the caller's own
 * (clp_allocator_ops), so that what they report reaches the user. `message` is copied (and cut
 * after 511 bytes); NULL means the status' own message. Returns `status`, for `return`. */
clp_status clp_set_last_error(clp_status status, int native_code, const char *message);

/** The status as written in C, such as "CLP_BUSY"; "CLP_UNKNOWN_STATUS" for a number that is none.
 * Borrowed, lives for ever. Any thread. */
const char *clp_status_name(clp_status status);

/** The status in words, such as "out of device memory". Borrowed, lives for ever. Any thread. */
const char *clp_status_message(clp_status status);

#ifdef __cplusplus
}
#endif

#endif
