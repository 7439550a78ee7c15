/* SPDX-License-Identifier: MIT */
/* Whether a test runs under a sanitizer or valgrind: CLPT_SANITIZED, RUNNING_ON_VALGRIND. */
#ifndef CLPT_INSTRUMENTED_H
#define CLPT_INSTRUMENTED_H

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

/* gcc says so by macros, clang by features. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CLPT_SANITIZED 1
#elif defined(__has_feature)
#define CLPT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define CLPT_SANITIZED 0
#endif

#endif
