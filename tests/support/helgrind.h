/* SPDX-License-Identifier: MIT */
/* Included before every file of a core that is built for helgrind: tells it what the flags of the
 * caches' protocol order. What it makes of the flags themselves is suppressed (helgrind.supp). */
#ifndef CLPT_HELGRIND_H
#define CLPT_HELGRIND_H

#if defined(__has_include)
#if __has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#define CLPI_RELEASES(flag) ANNOTATE_HAPPENS_BEFORE(flag)
#define CLPI_ACQUIRES(flag) ANNOTATE_HAPPENS_AFTER(flag)
#endif
#endif

#endif
