/* SPDX-License-Identifier: MIT */
/* Searching the dynamic linker's list of loaded objects. */
#include "hooks/object.h"

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct search {
  uintptr_t address;
  clpi_object_place *place;
} search;

static bool contains(const struct dl_phdr_info *object, uintptr_t address)
{
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
      return true;
  }
  return false;
}

static void set_name(clpi_object_place *place, const char *path)
{
  const char *slash = strrchr(path, '/');
  snprintf(place->object, sizeof(place->object), "%.*s", CLPI_OBJECT_NAME_BYTES - 1,
           slash ? slash + 1 : path);
}

/* The dynamic linker lists the program itself under an empty name. */
static void set_program_name(clpi_object_place *place)
{
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  path[length > 0 ? length : 0] = '\0';
  set_name(place, length > 0 ? path : "program");
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument)
{
  const search *wanted = argument;
  (void)bytes;
  if (!contains(object, wanted->address))
    return 0;
  wanted->place->offset = wanted->address - object->dlpi_addr;
  if (object->dlpi_name[0])
    set_name(wanted->place, object->dlpi_name);
  else
    set_program_name(wanted->place);
  return 1;
}

void clpi_object_find(uintptr_t address, clpi_object_place *place)
{
  search wanted = {address, place};
  if (dl_iterate_phdr(look_at, &wanted))
    return;
  place->offset = address;
  set_name(place, "unknown");
}
