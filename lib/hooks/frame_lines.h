/* SPDX-License-Identifier: MIT */
/* The source lines of addresses. Each address is looked up once, and frames with the same text
 * share a line. */
#ifndef CLPOOL_HOOKS_FRAME_LINES_H
#define CLPOOL_HOOKS_FRAME_LINES_H

#include "hooks/symbols.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_line {
  bool is_startup;  /* clpi_symbol_is_startup */
  bool is_nameless; /* neither file nor function is known */
  char text[];      /* file:line:function, or object+0xoffset; may hold any bytes */
} clpi_line;

/* The frames of one address, outermost first. */
typedef struct clpi_address_lines {
  uintptr_t address;
  size_t count;
  const clpi_line **lines;
} clpi_address_lines;

typedef struct clpi_frame_lines {
  const clpi_symbols *symbols;
  void *session;
  void *addresses; /* of clpi_address_lines, for tsearch */
  void *lines;     /* of clpi_line, likewise */
} clpi_frame_lines;

/* Begins a session of `symbols`. Statuses as of symbols->open. */
clp_status clpi_frame_lines_init(clpi_frame_lines *names, const clpi_symbols *symbols);
void clpi_frame_lines_end(clpi_frame_lines *names);

/* Finds the lines of an address; they are valid as long as `names`. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_frame_lines_find(clpi_frame_lines *names, uintptr_t address,
                                 const clpi_address_lines **out);

#endif
