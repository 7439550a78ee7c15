/* SPDX-License-Identifier: MIT */
/* Two search trees: looked-up addresses, and lines by their text. */
#include "hooks/frame_lines.h"

#include "core/base/error.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An address whose lines are being added. */
typedef struct lookup {
  clpi_frame_lines *names;
  clpi_address_lines *found;
} lookup;

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the lines of a profile");
}

static int compare_addresses(const void *left, const void *right)
{
  const clpi_address_lines *a = left, *b = right;
  return (a->address > b->address) - (a->address < b->address);
}

static int compare_lines(const void *left, const void *right)
{
  const clpi_line *a = left, *b = right;
  return strcmp(a->text, b->text);
}

static void free_address(void *address)
{
  clpi_address_lines *found = address;
  free(found->lines);
  free(found);
}

clp_status clpi_frame_lines_init(clpi_frame_lines *names, const clpi_symbols *symbols)
{
  *names = (clpi_frame_lines){.symbols = symbols};
  return symbols->open(&names->session);
}

void clpi_frame_lines_end(clpi_frame_lines *names)
{
  tdestroy(names->addresses, free_address);
  tdestroy(names->lines, free);
  names->symbols->close(names->session);
}

/* Returns the length, as snprintf does. */
static int write_text(char *text, size_t bytes, const clpi_symbol *symbol)
{
  if (symbol->line < 0)
    return snprintf(text, bytes, "%s", symbol->file);
  if (symbol->file)
    return snprintf(text, bytes, "%s:%d:%s", symbol->file, symbol->line,
                    symbol->function ? symbol->function : "??");
  return snprintf(text, bytes, "%s+0x%" PRIxPTR "%s%s", symbol->object, symbol->offset,
                  symbol->function ? ":" : "", symbol->function ? symbol->function : "");
}

static clpi_line *make_line(const clpi_symbol *symbol)
{
  size_t bytes = (size_t)write_text(NULL, 0, symbol) + 1;
  clpi_line *line = malloc(sizeof(*line) + bytes);
  if (!line)
    return NULL;
  line->is_startup = clpi_symbol_is_startup(symbol);
  line->is_nameless = !symbol->file && !symbol->function;
  write_text(line->text, bytes, symbol);
  return line;
}

/* The line of the symbol, found or added. NULL: out of host memory. */
static const clpi_line *find_line(clpi_frame_lines *names, const clpi_symbol *symbol)
{
  clpi_line *line = make_line(symbol);
  clpi_line **node = line ? tsearch(line, &names->lines, compare_lines) : NULL;
  if (!node || *node != line)
    free(line);
  return node ? *node : NULL;
}

static clp_status add_line(const clpi_symbol *symbol, void *argument)
{
  const lookup *to = argument;
  clpi_address_lines *found = to->found;
  const clpi_line *line = find_line(to->names, symbol);
  const clpi_line **lines = reallocarray(found->lines, found->count + 1, sizeof(*lines));
  if (lines)
    found->lines = lines;
  if (!lines || !line)
    return no_host_memory();
  lines[found->count++] = line;
  return CLP_SUCCESS;
}

clp_status clpi_frame_lines_find(clpi_frame_lines *names, uintptr_t address,
                                 const clpi_address_lines **out)
{
  clpi_address_lines *found = calloc(1, sizeof(*found));
  if (!found)
    return no_host_memory();
  found->address = address;
  clpi_address_lines **node = tsearch(found, &names->addresses, compare_addresses);
  if (!node || *node != found)
    free(found);
  if (!node)
    return no_host_memory();
  *out = *node;
  if (*node != found)
    return CLP_SUCCESS;
  return names->symbols->show(names->session, address, add_line, &(lookup){names, found});
}
