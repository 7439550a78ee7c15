/* SPDX-License-Identifier: MIT */
/* Reading and filling public structs that begin with their size, of callers that were compiled
 * with an older or newer version of the library. */
#ifndef CLPOOL_CORE_BASE_OPTIONS_H
#define CLPOOL_CORE_BASE_OPTIONS_H

#include <clpool/status.h>
#include <stddef.h>

/* Copies the caller's struct `from` over `to`, which is `known` bytes long and holds the defaults.
 * Fields that an older caller's struct lacks keep their defaults; if `from` is NULL, all do.
 * CLP_INVALID_ARGUMENT: the struct has fewer than `least` bytes, or more than any version has; or a
 * newer caller's field is not zero. `what` names the struct in the message. */
clp_status clpi_options_read(void *to, size_t known, const void *from, size_t least,
                             const char *what);

/* Checks `initialized`: 1 is from the struct's _INIT macro. 0 means that the caller filled the
 * struct with zeros, and fields of 0 mean the defaults. CLP_INVALID_ARGUMENT: any other value, so
 * the caller did not initialize the struct. */
clp_status clpi_options_check_initialized(unsigned initialized, const char *what);

/* Fills the caller's struct `to` from `from`, up to the size that `to` states, and sets fields that
 * the library does not know to zero. CLP_INVALID_ARGUMENT as above. */
clp_status clpi_results_write(void *to, size_t least, const void *from, size_t known,
                              const char *what);

#endif
