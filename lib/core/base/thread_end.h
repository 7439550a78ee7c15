/* SPDX-License-Identifier: MIT */
/* Callbacks at the end of threads that own something in the library. */
#ifndef CLPOOL_CORE_BASE_THREAD_END_H
#define CLPOOL_CORE_BASE_THREAD_END_H

#include <stdbool.h>

/* Adds a callback for the end of every watched thread. Adding the same function again does
 * nothing. */
void clpi_thread_end_add(void (*at_end)(void));

/* Watches the calling thread: its end will run the callbacks. False: that cannot be arranged, so
 * the thread must not own anything that only its end would free. */
bool clpi_thread_end_watch(void);

#endif
