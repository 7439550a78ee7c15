/* SPDX-License-Identifier: MIT */
/* For allocators that stand on another one and pass its operations on unchanged: those of streams,
 * and others. Their `self` must begin with a pointer to the allocator beneath. */
#ifndef CLPOOL_CORE_ALLOCATOR_STREAM_FORWARDING_H
#define CLPOOL_CORE_ALLOCATOR_STREAM_FORWARDING_H

#include <clpool/allocator.h>

/* Fills in drain and return_cached. */
void clpi_pass_returns(clp_allocator_ops *ops);

/* If the allocator beneath orders streams, fills in the stream operations, stream_is_in_order,
 * forget_stream and free_stream; otherwise leaves `ops` as it is. */
void clpi_pass_stream_order(const clp_allocator *beneath, clp_allocator_ops *ops);

/* The forget_stream that it fills in; allocators with records of streams of their own call it from
 * theirs. */
clp_status clpi_pass_forget_stream(void *self, clp_stream stream);

#endif
