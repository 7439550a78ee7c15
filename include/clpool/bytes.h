/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/bytes.h - sizes as people write them: in the environment, on a command line. */
#ifndef CLPOOL_BYTES_H
#define CLPOOL_BYTES_H

#include <clpool/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads a size: decimal digits and then
 *
 * - nothing, for bytes: "1073741824";
 * - K, M, G, T, KiB, MiB, GiB or TiB, powers of 1024: "512M", "1.5G", "4GiB";
 * - a percent sign, for a part of `whole` bytes, at most "100%": "40%".
 *
 * A unit or a percent sign may follow a point and more digits, too. Without one, "0.5" is refused,
 * since nobody means half a byte: half of `whole` is "50%".
 *
 * The result is rounded down, but what is more than 0 is at least one byte. The program's locale
 * plays no part. `*bytes` is written on success alone. Any thread.
 * CLP_INVALID_ARGUMENT: NULL text or bytes; any other text, blanks and signs included; more bytes
 *   than a size_t counts. The message shows the text.
 * CLP_NOT_SUPPORTED: a percentage where `whole` is 0, which means that it is unknown. */
clp_status clp_bytes_parse(const char *text, size_t whole, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
