/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/bin.h - the arithmetic of bins: which sizes share a bin, and how large its blocks are.
 *
 * Semantics: bin_number and alloc_size of pyopencl.tools.MemoryPool. With b leading bits and
 * l = floor(log2 size), the bin of a size is `l << b | m`, where m is the b bits after the leading
 * one. Every block of a bin has the largest size of that bin. Rounding up adds less than 1 / 2^b of
 * the size. For instance, b = 4 adds less than 6.25 %, and b = 0 rounds up to one less than a power
 * of two. */
#ifndef CLPOOL_BIN_H
#define CLPOOL_BIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest leading_bits_in_bin_id that is allowed. */
#define CLP_MAX_LEADING_BITS 16u

/** Returns the bin that serves requests of `size` bytes. Every size has a bin; sizes 0 and 1 share
 * bin 0. Returns 0 if leading_bits is above CLP_MAX_LEADING_BITS, which no pool has. Pure. Any
 * thread. */
size_t clp_bin_number(unsigned leading_bits, size_t size);

/** Returns the size in bytes of the blocks of a bin, which is the largest size in that bin. For the
 * bins of a pool, call clp_pool_alloc_size (clpool/pool.h) instead: it never returns more than the
 * largest block that the device allows.
 *
 * For a number that is no size's bin, it returns the block size of the next lower bin, or SIZE_MAX
 * above the bin of SIZE_MAX. Returns 0 if leading_bits is above CLP_MAX_LEADING_BITS. Pure. Any
 * thread. */
size_t clp_bin_size(unsigned leading_bits, size_t bin);

#ifdef __cplusplus
}
#endif

#endif
