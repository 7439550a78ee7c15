/* SPDX-License-Identifier: MIT */
/* The end of threads: what is to be done then for those that have something in the library. */
#ifndef CLPOOL_CORE_BASE_THREAD_END_H
#define CLPOOL_CORE_BASE_THREAD_END_H

#include <stdbool.h>

/* Adds a callback for the end of each watched thread, once for each function however often this is
 * called. */
void clpi_thread_end_add(void (*at_end)(void));

/* Sees to it that the calling thread's end calls the callbacks. False: it cannot, so the thread
 * must not have anything that only its end would take away. */
bool clpi_thread_end_watch(void);

#endif
