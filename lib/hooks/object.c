/* SPDX-License-Identifier: MIT */
/* Searching the dynamic linker's list of loaded objects. */
#include "hooks/object.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct search {
  uintptr_t address;
  clpi_object_place *place;
} search;

/* From the first part of an object to the end of its last. False: the address is in none of its
 * parts. */
static bool find_range(const struct dl_phdr_info *object, uintptr_t address,
                       clpi_object_range *range)
{
  bool contains = false;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD)
      continue;
    contains |= address - start < part->p_memsz;
    begin = start < begin ? start : begin;
    end = start + part->p_memsz > end ? start + part->p_memsz : end;
  }
  *range = (clpi_object_range){begin, end - begin};
  return contains;
}

/* The dynamic linker lists the program itself under an empty name. */
static void set_path(char path[PATH_MAX], const char *name)
{
  ssize_t length = *name ? 0 : readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (length > 0)
    path[length] = '\0';
  else
    snprintf(path, PATH_MAX, "%s", *name ? name : "program");
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument)
{
  const search *wanted = argument;
  (void)bytes;
  if (!find_range(object, wanted->address, &wanted->place->range))
    return 0;
  wanted->place->offset = wanted->address - object->dlpi_addr;
  set_path(wanted->place->path, object->dlpi_name);
  return 1;
}

void clpi_object_find(uintptr_t address, clpi_object_place *place)
{
  search wanted = {address, place};
  if (dl_iterate_phdr(look_at, &wanted))
    return;
  place->offset = address;
  place->range = (clpi_object_range){0};
  strcpy(place->path, "unknown");
}

const char *clpi_object_name(const clpi_object_place *place)
{
  const char *slash = strrchr(place->path, '/');
  return slash ? slash + 1 : place->path;
}

clpi_object_range clpi_object_range_of(uintptr_t address)
{
  clpi_object_place place;
  clpi_object_find(address, &place);
  return place.range;
}
