/* SPDX-License-Identifier: MIT */
/* The variables of the environment that set defaults of the process, as clpool/clpool.h lists them.
 * A variable that is not set leaves the result as it was, and succeeds; so does any in programs
 * that have more rights than their caller. What cannot be read is CLP_INVALID_ARGUMENT, with a
 * message that names the variable, its text and what is expected. */
#ifndef CLPOOL_CORE_BASE_ENVIRONMENT_H
#define CLPOOL_CORE_BASE_ENVIRONMENT_H

#include <clpool/status.h>
#include <stddef.h>

/* A whole number up to `most`, in decimal digits. */
clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number);

/* A part, 0 to 1, in decimal digits with a point. */
clp_status clpi_environment_part(const char *variable, double *part);

/* Bytes, as clp_bytes_parse reads them; a percentage is of the device's memory, `device_bytes`, 0
 * if unknown. CLP_NOT_SUPPORTED: then, with a message about the allocator `whose`. */
clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes);

#endif
