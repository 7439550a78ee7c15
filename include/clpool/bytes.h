/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/bytes.h - reads sizes in the form that environment variables and options have: "512M". */
#ifndef CLPOOL_BYTES_H
#define CLPOOL_BYTES_H

#include <clpool/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads a size from `text` and stores it in `*bytes`. The text is a decimal number, followed by
 *
 * - nothing: bytes, such as "1073741824";
 * - K, M, G, T, KiB, MiB, GiB or TiB: a power of 1024, such as "512M", "1.5G", "4GiB";
 * - a percent sign: a part of `total` bytes, such as "40%", at most "100%".
 *
 * A number of bytes must not have a decimal point: "0.5" is an error; half of `total` is "50%".
 * Results are rounded down, but a size above 0 is at least one byte. The locale does not matter.
 *
 * Writes `*bytes` only on success. Any thread.
 * CLP_INVALID_ARGUMENT: text or bytes is NULL; the text has another form, for instance a space or a
 *   sign; the size does not fit in a size_t. The message quotes the text.
 * CLP_NOT_SUPPORTED: the text is a percentage, and `total` is 0, which means unknown. */
clp_status clp_bytes_parse(const char *text, size_t total, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
