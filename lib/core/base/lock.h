/* SPDX-License-Identifier: MIT */
/* Locks that are held for a microsecond or less. */
#ifndef CLPOOL_CORE_BASE_LOCK_H
#define CLPOOL_CORE_BASE_LOCK_H

#include <pthread.h>

/* What such a mutex begins as. glibc has adaptive ones, which spin briefly before they sleep. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define CLPI_LOCK_INIT ((pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
#else
#define CLPI_LOCK_INIT ((pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER)
#endif

#endif
