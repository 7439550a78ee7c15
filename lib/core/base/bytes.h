/* SPDX-License-Identifier: MIT */
/* Reading sizes (clpool/bytes.h) and the variables of the environment. */
#ifndef CLPOOL_CORE_BASE_BYTES_H
#define CLPOOL_CORE_BASE_BYTES_H

#include <clpool/bytes.h>
#include <clpool/status.h>

/* --- the variables of the environment that set defaults of the process (doc/environment.md) ---
 *
 * If a variable is not set, the call succeeds and does not change the result. The same happens in
 * programs that have more rights than their caller. CLP_INVALID_ARGUMENT: the text cannot be read;
 * the message names the variable, its text and the expected form. */

/* Returns the variable's text. NULL: it is not set, or must not be read. */
const char *clpi_environment_text(const char *variable);

/* Makes all later calls ignore CLPOOL_TRACE and the variables that set defaults, because the pools
 * of this copy of the library are not the program's. Call it before the first pool. */
void clpi_environment_ignore(void);

/* Reads an integer from 0 to `most`, in decimal digits. */
clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number);

/* Reads a fraction from 0 to 1, in decimal digits with a point. */
clp_status clpi_environment_part(const char *variable, double *part);

/* Reads bytes, as clp_bytes_parse; a percentage is of `device_bytes`. CLP_NOT_SUPPORTED: it is a
 * percentage, and device_bytes is 0, unknown. `whose` names the allocator in the message. */
clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes);

#endif
