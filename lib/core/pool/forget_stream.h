/* SPDX-License-Identifier: MIT */
/* What a pool needs of its streams. */
#ifndef CLPOOL_CORE_POOL_FORGET_STREAM_H
#define CLPOOL_CORE_POOL_FORGET_STREAM_H

#include "core/pool/pool.h"

/* Tells which streams the blocks and buffers of a pool need (clpi_streams). */
void clpi_note_needed_locked(clpi_streams *streams);

#endif
