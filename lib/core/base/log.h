/* SPDX-License-Identifier: MIT */
/* Remarks to the log callback that the user set, if any. */
#ifndef CLPOOL_CORE_BASE_LOG_H
#define CLPOOL_CORE_BASE_LOG_H

#include <clpool/log.h>

/* Not to be called under a lock of the library: the callback may use it. */
void clpi_log(clp_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
