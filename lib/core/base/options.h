/* SPDX-License-Identifier: MIT */
/* Public structs that begin with their size: reading and filling those of callers compiled against
 * an older or newer version of the library. */
#ifndef CLPOOL_CORE_BASE_OPTIONS_H
#define CLPOOL_CORE_BASE_OPTIONS_H

#include <clpool/status.h>
#include <stddef.h>

/* Copies the caller's struct `from` over `to`, which is `known` bytes long and holds the defaults.
 * Fields that an older caller's struct lacks keep their defaults; if `from` is NULL, all do.
 * CLP_INVALID_ARGUMENT, naming `what`: fewer than `least` bytes or more than any version has, or a
 * newer caller's field that is not zero. */
clp_status clpi_options_read(void *to, size_t known, const void *from, size_t least,
                             const char *what);

/* `initialized` is 1, which the struct's _INIT macro sets, or 0, where the caller filled the struct
 * in another way and fields of 0 mean the defaults. CLP_INVALID_ARGUMENT, naming `what`: neither,
 * so what was filled was not zero before. */
clp_status clpi_options_check_initialized(unsigned initialized, const char *what);

/* Fills the caller's struct `to` from `from`, up to the size that `to` states. Fields that the
 * library does not know are zeroed. CLP_INVALID_ARGUMENT as above. */
clp_status clpi_results_write(void *to, size_t least, const void *from, size_t known,
                              const char *what);

#endif
