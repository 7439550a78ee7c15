/* SPDX-License-Identifier: MIT */
/* The mallocs that pools are compared with: the C library's, and those that happen to be here. */
#include "rivals.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* jemalloc's and mimalloc's variables of threads are of the kind that must lie in the block that
 * each thread has from its start. For a library that is loaded later there is only what the dynamic
 * linker keeps in reserve there, which is too little for jemalloc unless this, read at a program's
 * start, asks for more. To link with jemalloc instead would replace the C library's malloc. */
#define STATIC_TLS "glibc.rtld.optional_static_tls"

static const struct {
  const char *name, *library, *malloc, *free;
} others[] = {
    {"jemalloc", "libjemalloc.so.2", "malloc", "free"},
    {"mimalloc", "libmimalloc.so.2", "mi_malloc", "mi_free"},
};

/* Returns only if that cannot help: it was done before, or fails. */
static void begin_anew(char **argv)
{
  const char *tunables = getenv("GLIBC_TUNABLES");
  char more[4096];
  if (tunables != NULL && strstr(tunables, STATIC_TLS) != NULL)
    return;
  int length = snprintf(more, sizeof more, "%s%s" STATIC_TLS "=16384", tunables ? tunables : "",
                        tunables ? ":" : "");
  if (length < (int)sizeof more && setenv("GLIBC_TUNABLES", more, 1) == 0)
    (void)execv("/proc/self/exe", argv);
}

static void *load(const char *library, char **argv)
{
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == NULL && strstr(dlerror(), "static TLS") != NULL)
    begin_anew(argv);
  return loaded;
}

/* The C library's malloc gives memory at the end of its heap back to the kernel, and asks for it
 * again, or not: that depends on what else happens to lie there. Here it keeps it, as pools do. */
static void keep_what_is_freed(void)
{
#ifdef M_TRIM_THRESHOLD
  (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
  (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

size_t bench_find_rivals(char **argv, bench_source rivals[BENCH_MAX_RIVALS])
{
  size_t count = 0;
  keep_what_is_freed();
  rivals[count++] = (bench_source){"malloc", BENCH_MALLOC, true, .malloc = malloc, .free = free};
  /* jemalloc brings an operator new along, and the C++ library. If that is loaded on its behalf, it
   * takes jemalloc's for its own, and a driver that needs the C++ library later frees with one what
   * it has from the other. So it comes first, if it is here. */
  (void)dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    bench_source *rival = &rivals[count];
    void *library = load(others[i].library, argv);
    if (library == NULL)
      continue;
    *rival = (bench_source){others[i].name, BENCH_MALLOC, .is_basis = true};
    /* POSIX wants this conversion to work, and C does not know it. */
    *(void **)&rival->malloc = dlsym(library, others[i].malloc);
    *(void **)&rival->free = dlsym(library, others[i].free);
    if (rival->malloc != NULL && rival->free != NULL)
      count++;
  }
  return count;
}
