/* SPDX-License-Identifier: MIT */
/* The memory of a device whose streams run late: blocks, and the work that uses them. */
#ifndef CLPT_LATE_BLOCKS_H
#define CLPT_LATE_BLOCKS_H

#include "late_device.h"

/* All of it with the device's lock. */

/* allocate, free and free_on; bytes and memory are checked. */
clp_status clpt_late_take_locked(clpt_late_device *device, size_t bytes, clp_memory *out);
void clpt_late_give_back_locked(clpt_late_device *device, clp_memory memory, size_t bytes);
void clpt_late_give_back_on_locked(clpt_late_device *device, clp_memory memory, size_t bytes,
                                   clpt_late_stream *stream);

/* split and unsplit; 0: not so, which is wrong. */
clp_memory clpt_late_split_locked(clpt_late_device *device, clp_memory memory, size_t offset,
                                  size_t bytes);
void clpt_late_unite_locked(clpt_late_device *device, clp_memory memory, size_t bytes);

/* The block that has the address; 0: none. */
clp_memory clpt_late_whole_locked(clpt_late_device *device, clp_memory memory);

/* Work of a user's; see late_device.h. */
void clpt_late_write_locked(clpt_late_device *device, clpt_late_stream *stream, clp_memory memory);
void clpt_late_read_locked(clpt_late_device *device, clpt_late_stream *stream, clp_memory memory);

/* Notes what is wrong; only the first is kept. */
void clpt_late_wrong_locked(clpt_late_device *device, const char *what);

/* Frees the blocks that are left; without the lock. */
void clpt_late_blocks_end(clpt_late_device *device);

#endif
