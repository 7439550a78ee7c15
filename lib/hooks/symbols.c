/* SPDX-License-Identifier: MIT */
/* The symbols of this process, from its loaded objects and their debug information. */
#include "hooks/symbols.h"

#include "hooks/object.h"

#include <string.h>
#include <sys/auxv.h>
#include <unwind.h>

static clp_status open_session(void **session)
{
  clpi_debug_info *info = NULL;
  clp_status status = clpi_debug_info_open(NULL, &info);
  *session = info;
  return status;
}

static void close_session(void *session)
{
  clpi_debug_info_close(session);
}

/* The function at the program's entry point is known even without symbols. If the unwinder knows no
 * functions, as in static programs, a few dozen bytes are assumed. */
static bool is_program_start(uintptr_t address)
{
  enum { START_BYTES = 64 };
  uintptr_t start = getauxval(AT_ENTRY);
  uintptr_t function = (uintptr_t)_Unwind_FindEnclosingFunction((void *)(address + 1));
  return start && (function ? function == start : address - start < START_BYTES);
}

static clp_status show(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                       void *argument)
{
  clpi_object_place place;
  clpi_object_find(address, &place);
  clpi_symbol plain = {.object = clpi_object_name(&place), .offset = place.offset};
  if (is_program_start(address))
    plain.function = "_start";
  return clpi_debug_info_show(session, address, &plain, visitor, argument);
}

const clpi_symbols clpi_process_symbols = {open_session, show, close_session, false};

/* The C library calls main and threads' functions through its own functions, whose names may be
 * unknown. So every frame in it counts as start-up code if it is outermost. */
bool clpi_symbol_is_startup(const clpi_symbol *symbol)
{
  static const char *const functions[] = {"_start",
                                          "__libc_start_main",
                                          "__libc_start_main_impl",
                                          "__libc_start_call_main",
                                          "start_thread",
                                          "clone",
                                          "clone3",
                                          "__clone3"};
  static const char *const objects[] = {"libc.so.", "libpthread.so.", "ld-musl-"};
  for (size_t i = 0; symbol->function && i < sizeof(functions) / sizeof(functions[0]); i++)
    if (strcmp(symbol->function, functions[i]) == 0)
      return true;
  for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
    if (strncmp(symbol->object, objects[i], strlen(objects[i])) == 0)
      return true;
  return false;
}
