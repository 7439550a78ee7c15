/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/log.h - where the library's messages go: to a callback of the program's. The library
 * itself prints nothing. */
#ifndef CLPOOL_LOG_H
#define CLPOOL_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/** How much a message matters. */
typedef enum clp_log_level {
  CLP_LOG_INFO = 0,    /**< good to know */
  CLP_LOG_WARNING = 1, /**< it works, but perhaps not as meant: a pool on a deferred allocator */
  CLP_LOG_ERROR = 2 /**< a failure that no return value can carry: memory that the device does not
                       take back at a buffer's release or a pool's end */
} clp_log_level;

/** Receives one message. `message` is a sentence without a line feed, borrowed for the call. Called
 * on the thread that caused it, under no lock of the library, at times from several at once. It
 * may use the library. */
typedef void (*clp_log_callback)(clp_log_level level, const char *message, void *user_data);

/** Sends the messages of the whole process to `callback`, NULL for nowhere (as at the start).
 *
 * Any thread, any time. A message that another thread is delivering at that moment may still reach
 * the former callback after this returns. */
void clp_set_log(clp_log_callback callback, void *user_data);

#ifdef __cplusplus
}
#endif

#endif
