/* SPDX-License-Identifier: MIT */
/* Reporting failures: one call sets the thread's last error and gives the status to return. */
#ifndef CLPOOL_CORE_ERROR_H
#define CLPOOL_CORE_ERROR_H

#include <clpool/status.h>

/* Sets the calling thread's last error and returns `status`. Never allocates. */
clp_status clpi_error(clp_status status, int native_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How often the calling thread's last error was set: tells whether a callee said something. */
unsigned long clpi_error_serial(void);

#endif
