/* SPDX-License-Identifier: MIT */
/* Allocators over another one: the operations on streams that they pass on as they are. Their
 * `self` begins with a pointer to the one beneath. */
#ifndef CLPOOL_CORE_ALLOCATOR_STREAM_FORWARDING_H
#define CLPOOL_CORE_ALLOCATOR_STREAM_FORWARDING_H

#include <clpool/allocator.h>

/* Fills the stream order group, which streams are in order, and forget_stream, if the one beneath
 * orders streams. */
void clpi_pass_stream_order(const clp_allocator *beneath, clp_allocator_ops *ops);

/* What it fills in last, for those who remember streams themselves. */
clp_status clpi_pass_forget_stream(void *self, clp_stream stream);

#endif
