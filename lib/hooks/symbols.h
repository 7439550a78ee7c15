/* SPDX-License-Identifier: MIT */
/* What the program calls an address: file, line and function. */
#ifndef CLPOOL_HOOKS_SYMBOLS_H
#define CLPOOL_HOOKS_SYMBOLS_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stdint.h>

/* A frame. Its strings are borrowed for the call that shows it. */
typedef struct clpi_symbol {
  const char *file; /* as given to the compiler; NULL: not known */
  int line;
  const char *function; /* NULL: not known */
  const char *object;   /* the file that was loaded, without folders */
  uintptr_t offset;     /* in it */
} clpi_symbol;

/* Told of a frame; a failure ends the search with that status. */
typedef clp_status clpi_symbol_visitor(const clpi_symbol *symbol, void *argument);

/* A source of names. Tests have their own. */
typedef struct clpi_symbols {
  /* Begins a session of one thread. Where it fails there is nothing to close. */
  clp_status (*open)(void **session);

  /* Shows the frames of an address, outermost first: one, and one more for each call that the
   * compiler inlined there. */
  clp_status (*show)(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                     void *argument);

  void (*close)(void *session);
} clpi_symbols;

/* Names of this process, as it is now: the debug information that its objects have in themselves
 * or, by their build ID, below /usr/lib/debug. CLP_OUT_OF_HOST_MEMORY. */
extern const clpi_symbols clpi_process_symbols;

/* Whether a frame is of what calls main and the first function of a thread. */
bool clpi_symbol_is_startup(const clpi_symbol *symbol);

#endif
