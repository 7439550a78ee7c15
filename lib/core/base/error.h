/* SPDX-License-Identifier: MIT */
/* Reporting failures: one call sets the thread's last error and returns the status to return. A
 * failure that no call reports goes to the program's log callback, if one is set. */
#ifndef CLPOOL_CORE_BASE_ERROR_H
#define CLPOOL_CORE_BASE_ERROR_H

#include <clpool/log.h>
#include <clpool/status.h>

enum { CLPI_MESSAGE_BYTES = 512 }; /* longer messages are truncated */

/* Sets the calling thread's last error and returns `status`. It cannot fail: if the host has no
 * memory for the text, the message is clp_status_message(status). */
clp_status clpi_error(clp_status status, int native_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns how many times the calling thread's last error has been set. If the number changes across
 * a call, the callee reported an error. */
unsigned long clpi_error_serial(void);

/* A saved last error: keep it before an attempt that may fail without failing the public call, and
 * restore it if that call succeeds. */
typedef struct clpi_kept_error {
  unsigned long serial;
  clp_error error;
  char message[CLPI_MESSAGE_BYTES];
} clpi_kept_error;

void clpi_error_keep(clpi_kept_error *kept);
void clpi_error_restore(const clpi_kept_error *kept);

/* Until the end of the block, errors do not become the thread's last error. */
#define CLPI_KEEPS_ERROR                                                                           \
  clpi_kept_error clpi_kept __attribute__((cleanup(clpi_error_restore)));                          \
  clpi_error_keep(&clpi_kept)

/* Logs a message. Must not be called under a lock of the library: the callback may call the
 * library. */
void clpi_log(clp_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
