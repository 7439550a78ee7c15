/* SPDX-License-Identifier: MIT */
/* Finds file, line and function of an address. */
#ifndef CLPOOL_HOOKS_SYMBOLS_H
#define CLPOOL_HOOKS_SYMBOLS_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stdint.h>

/* A frame. Its strings are valid only during the visitor's call. */
typedef struct clpi_symbol {
  const char *file;     /* as given to the compiler; NULL: unknown */
  int line;             /* negative: show only `file` */
  const char *function; /* NULL: unknown */
  const char *object;   /* the name of the loaded file, without directories */
  uintptr_t offset;     /* of the address in the object */
} clpi_symbol;

/* Receives a frame; a status other than CLP_SUCCESS ends the search and becomes its result. */
typedef clp_status clpi_symbol_visitor(const clpi_symbol *symbol, void *argument);

/* A source of symbols. Tests have their own. */
typedef struct clpi_symbols {
  /* Begins a session, for use by one thread. If it fails there is nothing to close. */
  clp_status (*open)(void **session);

  /* Shows the frames of an address, outermost first: the function, then each call that the compiler
   * inlined there. */
  clp_status (*show)(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                     void *argument);

  void (*close)(void *session);

  bool has_callers; /* reports leave out frames without file and function below known ones */
} clpi_symbols;

/* The symbols of this process when a session begins, from the debug information in its objects or,
 * by build ID, in /usr/lib/debug. CLP_OUT_OF_HOST_MEMORY. */
extern const clpi_symbols clpi_process_symbols;

/* --- debug information: from libdw, or none if the library is built without it --- */

typedef struct clpi_debug_info clpi_debug_info;

/* Begins a session for the objects of this process or, if `file` is not NULL, for a file, in which
 * addresses are offsets. `*out` is NULL if there is no debug information; the functions below
 * accept that. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_debug_info_open(const char *file, clpi_debug_info **out);
void clpi_debug_info_close(clpi_debug_info *info);

/* Shows the frames of an address, outermost first: `plain`, with file, line and function if they
 * are known. CLP_OUT_OF_HOST_MEMORY: from then on, `info` only shows `plain`. */
clp_status clpi_debug_info_show(clpi_debug_info *info, uintptr_t address, const clpi_symbol *plain,
                                clpi_symbol_visitor *visitor, void *argument);

/* Whether a frame belongs to the code that calls main or a thread's first function. */
bool clpi_symbol_is_startup(const clpi_symbol *symbol);

#endif
