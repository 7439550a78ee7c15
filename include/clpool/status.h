/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/status.h - the statuses that calls return, and the calling thread's last error. */
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
/** The result of a call. CLP_STATUS_MAP lists the values, with a message for each. */
typedef enum clp_status { CLP_STATUS_MAP(CLP_STATUS_ENUMERATOR) } clp_status;
#undef CLP_STATUS_ENUMERATOR

/** Describes a failure; see clp_last_error. */
typedef struct clp_error {
  clp_status status;   /**< what the failing call returned; CLP_SUCCESS before any failure */
  int native_code;     /**< the backend's own code (cl_int, CUresult, errno); 0 if there is none */
  const char *message; /**< a sentence with the relevant figures, byte counts as plain digits; if
                          the host had no memory for it, clp_status_message(status) */
} clp_error;

/** Returns the calling thread's last error: the failure that a call of this library last returned
 * on this thread. A call that succeeds does not change it, even if some step inside it failed.
 *
 * The call never fails or allocates, and never returns NULL. The object and its message are
 * borrowed, and valid until the thread ends or makes its next call that may fail. */
const clp_error *clp_last_error(void);

/** Sets the calling thread's last error and returns `status`. The functions of your own allocators
 * (clp_allocator_ops) should call it before they return a failure, so that the program can read the
 * cause. `message` is copied, and cut after 511 bytes; NULL means clp_status_message(status). */
clp_status clp_set_last_error(clp_status status, int native_code, const char *message);

/** Returns the name of a status in C, such as "CLP_BUSY", or "CLP_UNKNOWN_STATUS" for any other
 * number. Borrowed, always valid. Any thread. */
const char *clp_status_name(clp_status status);

/** Returns a status in words, such as "out of device memory", or "unknown status" for any other
 * number. Borrowed, always valid. Any thread. */
const char *clp_status_message(clp_status status);

#ifdef __cplusplus
}
#endif

#endif
