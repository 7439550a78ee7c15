/* SPDX-License-Identifier: MIT */
/* Debug information by libdw: the function and the inlined calls at an address, and the line of
 * each. */
#include "hooks/symbols.h"

#include "core/base/error.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clpi_debug_info {
  Dwfl *objects; /* NULL: unusable, because libdw ran out of host memory */
};

/* A query for one address. */
typedef struct request {
  Dwfl_Module *object;
  Dwarf_Addr address;
  const clpi_symbol *plain;
  clpi_symbol_visitor *visitor;
  void *argument;
} request;

/* The compilation unit of an address, and the address as the unit counts it. */
typedef struct unit {
  Dwarf_Die die;   /* has the line table; a skeleton unit if the debug information is split */
  Dwarf_Die whole; /* has the functions: the same, or the split unit (.dwo) */
  Dwarf_Addr address;
} unit;

/* Only files of this machine: dwfl_standard_find_debuginfo may ask a server. */
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_build_id_find_debuginfo};

/* Where libdw jumps when it is out of host memory. By default it would end the program. */
static _Thread_local jmp_buf *without_memory;

__attribute__((noreturn)) static void leave_libdw(void)
{
  longjmp(*without_memory, 1);
}

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for debug information");
}

/* If the list of objects (/proc/self/maps) or the file cannot be read, there is no debug
 * information, which is not a failure. */
clp_status clpi_debug_info_open(const char *file, clpi_debug_info **out)
{
  *out = NULL;
  clpi_debug_info *info = malloc(sizeof(*info));
  if (!info)
    return no_host_memory();
  info->objects = dwfl_begin(&callbacks);
  clp_status status = info->objects ? CLP_SUCCESS : no_host_memory();
  bool is_reported =
      !status && (file ? dwfl_report_elf(info->objects, file, file, -1, 0, true) != NULL
                       : dwfl_linux_proc_report(info->objects, getpid()) == 0);
  if (is_reported && !dwfl_report_end(info->objects, NULL, NULL))
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

/* --- lines --- */

static const char *text_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* The file name as the compiler was given it: libdw puts the compiler's working directory before
 * relative names. */
static const char *as_given(unit *in, const char *file)
{
  const char *directory = text_of(&in->die, DW_AT_comp_dir);
  const char *main_file = dwarf_diename(&in->whole);
  size_t length = directory ? strlen(directory) : 0;
  bool is_inside = length && file && strncmp(file, directory, length) == 0 && file[length] == '/';
  return is_inside && main_file && main_file[0] != '/' ? file + length + 1 : file;
}

static void set_line_of_address(unit *in, clpi_symbol *symbol)
{
  Dwarf_Line *line = dwarf_getsrc_die(&in->die, in->address);
  symbol->file = line ? as_given(in, dwarf_linesrc(line, NULL, NULL)) : NULL;
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
  if (dwarf_getsrcfiles(&in->whole, &files, &count) == 0)
    symbol->file =
        as_given(in, dwarf_filesrc(files, (size_t)number_of(inlined, DW_AT_call_file), NULL, NULL));
  symbol->line = (int)number_of(inlined, DW_AT_call_line);
}

/* --- functions --- */

/* Finds the unit of an address. The table of addresses (.debug_aranges) is optional and may be
 * wrong. So the unit is checked, and if it is wrong, searched for. */
static bool find_die(Dwarf *all, unit *in)
{
  if (dwarf_addrdie(all, in->address, &in->die) && dwarf_haspc(&in->die, in->address) == 1)
    return true;
  Dwarf_CU *next = NULL;
  while (dwarf_get_units(all, next, &next, NULL, NULL, &in->die, NULL) == 0)
    if (dwarf_haspc(&in->die, in->address) == 1)
      return true;
  return false;
}

/* Sets in->whole: the split unit, if there is one and its file is found. */
static void find_whole_unit(unit *in)
{
  Dwarf_Die split;
  in->whole = in->die;
  if (dwarf_cu_info(in->die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.cu)
    in->whole = split;
}

static bool find_unit(Dwarf *all, unit *in)
{
  if (!find_die(all, in))
    return false;
  find_whole_unit(in);
  return true;
}

/* Whether a DIE may contain functions, or, in a function, inlined calls: those of the kind
 * `tag`. */
static bool may_have_inside(Dwarf_Die *die, int tag)
{
  switch (dwarf_tag(die)) {
  case DW_TAG_namespace:
  case DW_TAG_module:
  case DW_TAG_class_type:
  case DW_TAG_structure_type:
  case DW_TAG_union_type:
  case DW_TAG_lexical_block:
    return true;
  case DW_TAG_subprogram:
    return tag == DW_TAG_subprogram;
  default:
    return false;
  }
}

/* Finds the outermost DIE of the kind `tag` inside `around` that contains the address, children
 * before deeper descendants. (dwarf_getscopes fails for units made by link-time optimization.) */
static bool find_inside(Dwarf_Die *around, Dwarf_Addr address, int tag, Dwarf_Die *found)
{
  Dwarf_Die first, child;
  if (dwarf_child(around, &first))
    return false;
  int more = 0;
  for (child = first; !more; more = dwarf_siblingof(&child, &child))
    if (dwarf_tag(&child) == tag && dwarf_haspc(&child, address) == 1) {
      *found = child;
      return true;
    }
  more = 0;
  for (child = first; !more; more = dwarf_siblingof(&child, &child))
    if (may_have_inside(&child, tag) && find_inside(&child, address, tag, found))
      return true;
  return false;
}

static clp_status show_function(const request *wanted, unit *in, Dwarf_Die *function)
{
  clp_status status = CLP_SUCCESS;
  clpi_symbol symbol = *wanted->plain;
  Dwarf_Die at = *function, inner;
  for (bool has_inner = true; has_inner && !status; at = inner) {
    has_inner = find_inside(&at, in->address, DW_TAG_inlined_subroutine, &inner);
    const char *name = dwarf_diename(&at);
    symbol.function = name ? name : wanted->plain->function;
    if (has_inner)
      set_line_of_inlined_call(in, &inner, &symbol);
    else
      set_line_of_address(in, &symbol);
    status = wanted->visitor(&symbol, wanted->argument);
  }
  return status;
}

/* Shows the linker's symbol, if the function has no debug information; `in` may be NULL. With
 * clang -g1 only functions that others are inlined in have some, so the line is the function's. */
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
  Dwarf_Die function;
  if (!find_unit(all, &in))
    return show_symbol(wanted, NULL);
  if (!find_inside(&in.whole, in.address, DW_TAG_subprogram, &function))
    return show_symbol(wanted, &in);
  return show_function(wanted, &in, &function);
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
    info->objects = NULL; /* left in no state for dwfl_end, so leaked */
    return no_host_memory();
  }
  request wanted = {object, address, plain, visitor, argument};
  return show_in_object(&wanted);
}
