/* SPDX-License-Identifier: MIT */
/* Sizes as people write them (clpool/bytes.h). */
#ifndef CLPOOL_CORE_BASE_BYTES_H
#define CLPOOL_CORE_BASE_BYTES_H

#include <clpool/bytes.h>
#include <clpool/status.h>

/* --- the variables of the environment that set defaults of the process (clpool/clpool.h) ---
 *
 * A variable that is not set leaves the result as it was, and succeeds; so does any in programs
 * that have more rights than their caller. What cannot be read is CLP_INVALID_ARGUMENT, with a
 * message that names the variable, its text and what is expected. */

/* The variable's text; NULL: it is not set, or not to be read. */
const char *clpi_environment_text(const char *variable);

/* From now on no variable is read that sets defaults, nor CLPOOL_TRACE: the pools of this copy of
 * the library are not those of the program. Before the first pool. */
void clpi_environment_ignore(void);

/* A whole number up to `most`, in decimal digits. */
clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number);

/* A part, 0 to 1, in decimal digits with a point. */
clp_status clpi_environment_part(const char *variable, double *part);

/* Bytes, as clp_bytes_parse reads them; a percentage is of the device's memory, `device_bytes`, 0
 * if unknown. CLP_NOT_SUPPORTED: then, with a message about the allocator `whose`. */
clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes);

#endif
