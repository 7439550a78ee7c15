/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/bin.h - the arithmetic of bins: which sizes share a bin, and how large its blocks are.
 *
 * Semantics: pyopencl.tools.MemoryPool, bin_number and alloc_size. With b leading bits and
 * l = floor(log2 size), a size's bin is `l << b | m`, where m is the b bits after the leading one.
 * Every block of a bin has the largest size that shares those bits, so rounding up adds less than
 * one part in 2^b: b = 0 rounds up to one less than a power of two, b = 4 wastes at most 6.25 %. */
#ifndef CLPOOL_BIN_H
#define CLPOOL_BIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest leading_bits_in_bin_id that is allowed. */
#define CLP_MAX_LEADING_BITS 16u

/** The bin that serves requests of `size` bytes. Sizes 0 and 1 are bin 0; every value of a size_t
 * has a bin. Pure; any thread. 0 for leading_bits above CLP_MAX_LEADING_BITS, which no pool has. */
size_t clp_bin_number(unsigned leading_bits, size_t size);

/** The size in bytes of every block in `bin`: the largest that clp_bin_number puts there. For a
 * pool's own bins that is clp_pool_alloc_size, which bears PyOpenCL's name for it and keeps within
 * the largest block that the device allows. A bin number that no size has gives, among the smallest
 * bins, the size below, and SIZE_MAX past the bin of SIZE_MAX. Pure; any thread. 0 for leading_bits
 * above CLP_MAX_LEADING_BITS. */
size_t clp_bin_size(unsigned leading_bits, size_t bin);

#ifdef __cplusplus
}
#endif

#endif
