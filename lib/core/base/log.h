/* SPDX-License-Identifier: MIT */
/* Messages to the user's log callback, if one is set. */
#ifndef CLPOOL_CORE_BASE_LOG_H
#define CLPOOL_CORE_BASE_LOG_H

#include <clpool/log.h>

/* Must not be called under a lock of the library: the callback may call the library. */
void clpi_log(clp_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
