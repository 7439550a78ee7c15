/* SPDX-License-Identifier: MIT */
/* Reporting failures: one call sets the thread's last error and gives the status to return. */
#ifndef CLPOOL_CORE_BASE_ERROR_H
#define CLPOOL_CORE_BASE_ERROR_H

#include <clpool/status.h>

enum { CLPI_MESSAGE_BYTES = 512 }; /* longer messages are cut */

/* Sets the calling thread's last error and returns `status`. Never allocates. */
clp_status clpi_error(clp_status status, int native_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How often the calling thread's last error was set: tells whether a callee said something. */
unsigned long clpi_error_serial(void);

/* The thread's last error, kept while something is tried that may fail without the call failing:
 * to be restored where the call succeeds. */
typedef struct clpi_kept_error {
  unsigned long serial;
  clp_error error;
  char message[CLPI_MESSAGE_BYTES];
} clpi_kept_error;

void clpi_error_keep(clpi_kept_error *kept);
void clpi_error_restore(const clpi_kept_error *kept);

#endif
