/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/log.h - sends the library's messages to a callback of the program. The library itself
 * prints nothing. */
#ifndef CLPOOL_LOG_H
#define CLPOOL_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/** How important a message is. */
typedef enum clp_log_level {
  CLP_LOG_INFO = 0,    /**< information: for instance, an option overrides a variable */
  CLP_LOG_WARNING = 1, /**< it works, but perhaps not as intended: a pool on a deferred allocator */
  CLP_LOG_ERROR = 2    /**< a failure that no status reports: for instance, the device did not take
                          memory back at a buffer's release or a pool's end */
} clp_log_level;

/** Receives one message. `message` is a sentence without a line feed; it is borrowed, and valid
 * during the call. The library calls it on the thread that caused the message, without any lock of
 * the library, and possibly from several threads at once. The callback may use the library. */
typedef void (*clp_log_callback)(clp_log_level level, const char *message, void *user_data);

/** Sets the callback that receives the messages of the process. NULL, as at the start, discards
 * them. `user_data` is passed to the callback.
 *
 * Any thread, at any time. If another thread is delivering a message at that moment, the former
 * callback may still receive it after this call has returned. */
void clp_set_log(clp_log_callback callback, void *user_data);

#ifdef __cplusplus
}
#endif

#endif
