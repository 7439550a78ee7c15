/* SPDX-License-Identifier: MIT */
/* libdw: the function and the inlined calls that an address is in, and the line of each. */
#include "hooks/debug_info.h"

#include "core/error.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clpi_debug_info {
  Dwfl *objects; /* NULL: lost for want of host memory */
};

/* What is asked of one address. */
typedef struct request {
  Dwfl_Module *object;
  Dwarf_Addr address;
  const clpi_symbol *plain;
  clpi_symbol_visitor *visitor;
  void *argument;
} request;

/* The compilation unit that has the address, and the address as it is there. */
typedef struct unit {
  Dwarf_Die die;
  Dwarf_Addr address;
} unit;

/* The address' scopes in the unit, innermost first, from the function's own to the unit. */
typedef struct scopes {
  Dwarf_Die *dies;
  int count;
} scopes;

/* Files of this machine alone: dwfl_standard_find_debuginfo may ask a server for them. */
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_build_id_find_debuginfo};

/* Where libdw goes when it has no host memory. What it does of itself is to end the program. */
static _Thread_local jmp_buf *without_memory;

__attribute__((noreturn)) static void leave_libdw(void)
{
  longjmp(*without_memory, 1);
}

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for debug information");
}

/* Nothing is to be had where the list of objects (/proc/self/maps) cannot be read. */
clp_status clpi_debug_info_open(clpi_debug_info **out)
{
  *out = NULL;
  clpi_debug_info *info = malloc(sizeof(*info));
  if (!info)
    return no_host_memory();
  info->objects = dwfl_begin(&callbacks);
  clp_status status = info->objects ? CLP_SUCCESS : no_host_memory();
  if (!status && !dwfl_linux_proc_report(info->objects, getpid()) &&
      !dwfl_report_end(info->objects, NULL, NULL))
    *out = info;
  else
    clpi_debug_info_close(info);
  return status;
}

void clpi_debug_info_close(clpi_debug_info *info)
{
  if (info)
    dwfl_end(info->objects);
  free(info);
}

/* --- Lines ---------------------------------------------------------------------------------------
 */

static const char *text_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* libdw puts the folder in which the compiler ran before every name that was given without one. */
static const char *as_given(Dwarf_Die *unit_die, const char *file)
{
  const char *folder = text_of(unit_die, DW_AT_comp_dir);
  const char *main_file = dwarf_diename(unit_die);
  size_t length = folder ? strlen(folder) : 0;
  bool is_inside = length && file && strncmp(file, folder, length) == 0 && file[length] == '/';
  return is_inside && main_file && main_file[0] != '/' ? file + length + 1 : file;
}

static void set_line_of_address(unit *in, clpi_symbol *symbol)
{
  Dwarf_Line *line = dwarf_getsrc_die(&in->die, in->address);
  symbol->file = line ? as_given(&in->die, dwarf_linesrc(line, NULL, NULL)) : NULL;
  if (line)
    dwarf_lineno(line, &symbol->line);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  dwarf_formudata(dwarf_attr(die, name, &attribute), &number);
  return number;
}

static void set_line_of_inlined_call(unit *in, Dwarf_Die *inlined, clpi_symbol *symbol)
{
  Dwarf_Files *files;
  size_t count;
  symbol->file = NULL;
  if (dwarf_getsrcfiles(&in->die, &files, &count) == 0)
    symbol->file =
        as_given(&in->die, dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL));
  symbol->line = (int)number_of(inlined, DW_AT_call_line);
}

/* --- Functions -----------------------------------------------------------------------------------
 */

/* The table that leads from addresses to units is optional, and may have more than it should. */
static bool find_unit(Dwarf *all, unit *in)
{
  if (dwarf_addrdie(all, in->address, &in->die) && dwarf_haspc(&in->die, in->address) == 1)
    return true;
  Dwarf_CU *next = NULL;
  while (dwarf_get_units(all, next, &next, NULL, NULL, &in->die, NULL) == 0)
    if (dwarf_haspc(&in->die, in->address) == 1)
      return true;
  return false;
}

/* dwarf_getscopes goes from an inlined function to where it was written; what is wanted is where it
 * was inlined, which dwarf_getscopes_die tells of the innermost scope. */
static scopes find_scopes(unit *in)
{
  Dwarf_Die *written;
  scopes found = {0};
  if (dwarf_getscopes(&in->die, in->address, &written) <= 0)
    return found;
  found.count = dwarf_getscopes_die(&written[0], &found.dies);
  free(written);
  return found;
}

static bool is_inlined(Dwarf_Die *die)
{
  return dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

static int find_function(const scopes *in)
{
  for (int i = 0; i < in->count; i++)
    if (dwarf_tag(&in->dies[i]) == DW_TAG_subprogram)
      return i;
  return -1;
}

/* The next inlined call inside of scope `i`; -1: there is none. */
static int find_inlined_call(const scopes *in, int i)
{
  do
    i--;
  while (i >= 0 && !is_inlined(&in->dies[i]));
  return i;
}

static clp_status show_function(const request *wanted, unit *in, const scopes *around)
{
  clp_status status = CLP_SUCCESS;
  clpi_symbol symbol = *wanted->plain;
  for (int i = find_function(around); i >= 0 && !status;) {
    int inner = find_inlined_call(around, i);
    const char *name = dwarf_diename(&around->dies[i]);
    symbol.function = name ? name : wanted->plain->function;
    if (inner >= 0)
      set_line_of_inlined_call(in, &around->dies[inner], &symbol);
    else
      set_line_of_address(in, &symbol);
    status = wanted->visitor(&symbol, wanted->argument);
    i = inner;
  }
  return status;
}

/* Without the function's debug information: the symbol that the linker left, and perhaps a line. */
static clp_status show_symbol(const request *wanted, unit *in)
{
  clpi_symbol symbol = *wanted->plain;
  const char *name = dwfl_module_addrname(wanted->object, wanted->address);
  symbol.function = name ? name : wanted->plain->function;
  if (in)
    set_line_of_address(in, &symbol);
  return wanted->visitor(&symbol, wanted->argument);
}

static clp_status show_in_object(const request *wanted)
{
  Dwarf_Addr bias;
  Dwarf *all = dwfl_module_getdwarf(wanted->object, &bias);
  if (!all)
    return show_symbol(wanted, NULL);
  dwarf_new_oom_handler(all, leave_libdw);
  unit in = {.address = wanted->address - bias};
  if (!find_unit(all, &in))
    return show_symbol(wanted, NULL);
  scopes around = find_scopes(&in);
  clp_status status =
      find_function(&around) >= 0 ? show_function(wanted, &in, &around) : show_symbol(wanted, &in);
  free(around.dies);
  return status;
}

clp_status clpi_debug_info_show(clpi_debug_info *info, uintptr_t address, const clpi_symbol *plain,
                                clpi_symbol_visitor *visitor, void *argument)
{
  Dwfl_Module *object = info && info->objects ? dwfl_addrmodule(info->objects, address) : NULL;
  if (!object)
    return visitor(plain, argument);
  jmp_buf here;
  without_memory = &here;
  if (setjmp(here)) {
    info->objects = NULL; /* in no state to be ended */
    return no_host_memory();
  }
  request wanted = {object, address, plain, visitor, argument};
  return show_in_object(&wanted);
}
