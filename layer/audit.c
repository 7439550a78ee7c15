/* SPDX-License-Identifier: MIT */
/* An auditor of glibc's dynamic linker (LD_AUDIT). A program that is about to load an OpenCL loader
 * without layers gets the one that CLPOOL_LOADER names. The auditor has a C library of its own, so
 * it shares nothing with the program. It prints nothing. */
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* OpenCL loaders are smaller. On phones and boards, drivers of any size are named as one. */
enum { MOST_BYTES = 16 << 20 };

/* What a file contains. */
typedef struct contents {
  char *start; /* NULL: there is none, and to unmap it does nothing */
  size_t bytes;
} contents;

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

/* Maps a regular file of 1 to MOST_BYTES bytes. Does not wait for the writer of a pipe. */
static contents open_file(const char *path)
{
  struct stat found;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  const bool is_right = file >= 0 && fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                        found.st_size <= MOST_BYTES;
  void *start =
      is_right ? mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (file >= 0)
    close(file);
  return start == MAP_FAILED ? (contents){NULL, 0} : (contents){start, (size_t)found.st_size};
}

static bool has_words(const contents *file, const char *words)
{
  return file->start && memmem(file->start, file->bytes, words, strlen(words));
}

/* Both kinds of ELF files begin with the same members. */
static bool is_same_machine(const contents *first, const contents *second)
{
  const size_t machine = offsetof(Elf32_Ehdr, e_machine);
  if (first->bytes < sizeof(Elf32_Ehdr) || second->bytes < sizeof(Elf32_Ehdr))
    return false;
  return memcmp(first->start, second->start, EI_VERSION) == 0 &&
         memcmp(first->start + machine, second->start + machine, sizeof(Elf32_Half)) == 0;
}

/* A loader contains the name of the directory of its drivers' files, and if it has layers, the name
 * of their variable. */
static bool can_replace(const char *path, const char *loader)
{
  static const char variable[] = "OPENCL_LAYERS";
  const contents without = open_file(path);
  const contents with = open_file(loader);
  bool can = has_words(&without, "OpenCL/vendors") && !has_words(&without, variable) &&
             has_words(&with, variable) && is_same_machine(&without, &with);
  munmap(without.start, without.bytes);
  munmap(with.start, with.bytes);
  return can;
}

/* Called for each path that the linker tries; returns the one to try. */
char *la_objsearch(const char *path, uintptr_t *cookie, unsigned flag)
{
  (void)cookie, (void)flag;
  char *loader = has_loader_name(path) ? secure_getenv("CLPOOL_LOADER") : NULL;
  return loader && can_replace(path, loader) ? loader : (char *)path;
}
