/* SPDX-License-Identifier: MIT */
/* An auditor of glibc's dynamic linker (LD_AUDIT). A program that is about to load an OpenCL loader
 * without layers gets the one that CLPOOL_LOADER names. The auditor has a C library of its own, so
 * it shares nothing with the program. It prints nothing. */
#include "core/base/file_text.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Declared by link.h. The version of the linker's interface. */
unsigned la_version(unsigned version)
{
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* A path whose last part fits libOpenCL*.so*. */
static bool has_loader_name(const char *path)
{
  static const char stem[] = "/libOpenCL";
  const char *name = strrchr(path, '/');
  return name && strncmp(name, stem, sizeof(stem) - 1) == 0 && strstr(name, ".so");
}

/* Both kinds of ELF files begin with the same members. */
static bool is_same_machine(const clpi_file_text *first, const clpi_file_text *second)
{
  const size_t machine = offsetof(Elf32_Ehdr, e_machine);
  if (first->bytes < sizeof(Elf32_Ehdr) || second->bytes < sizeof(Elf32_Ehdr))
    return false;
  return memcmp(first->start, second->start, EI_VERSION) == 0 &&
         memcmp(first->start + machine, second->start + machine, sizeof(Elf32_Half)) == 0;
}

/* A loader names the directory of its drivers' files, and with layers the variable of theirs. */
static bool can_replace(const char *path, const char *loader)
{
  static const char variable[] = "OPENCL_LAYERS";
  const clpi_file_text without = clpi_file_text_open(path);
  const clpi_file_text with = clpi_file_text_open(loader);
  bool can = clpi_file_text_has(&without, "OpenCL/vendors") &&
             !clpi_file_text_has(&without, variable) && clpi_file_text_has(&with, variable) &&
             is_same_machine(&without, &with);
  clpi_file_text_close(&without);
  clpi_file_text_close(&with);
  return can;
}

/* Called for each path that the linker tries; returns the one to try. */
char *la_objsearch(const char *path, uintptr_t *cookie, unsigned flag)
{
  (void)cookie, (void)flag;
  char *loader = has_loader_name(path) ? secure_getenv("CLPOOL_LOADER") : NULL;
  return loader && can_replace(path, loader) ? loader : (char *)path;
}
