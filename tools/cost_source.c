/* SPDX-License-Identifier: MIT */
/* From the value of --cost to costs. */
#include "cost_source.h"

#include "program.h"

#include <string.h>
#include <unistd.h>

static const char *find_known(const char *name)
{
  for (size_t i = 0; i < clpi_known_costs_count; i++)
    if (strcmp(clpi_known_costs_list[i].name, name) == 0)
      return clpi_known_costs_list[i].text;
  return NULL;
}

/* What is no path, a name without a slash, was perhaps meant as another name. */
static int unknown_name(const char *name)
{
  enum { NAMES_BYTES = 512 };
  char names[NAMES_BYTES] = "";
  for (size_t i = 0; i < clpi_known_costs_count; i++) {
    strncat(names, clpi_known_costs_list[i].name, sizeof(names) - strlen(names) - 1);
    strncat(names, ", ", sizeof(names) - strlen(names) - 1);
  }
  return clpi_misuse("--cost: expected %sor a file of clpool bench, found \"%s\"", names, name);
}

int clpi_costs_open(const char *source, trace_costs *costs)
{
  *costs = (trace_costs){0};
  const char *text = find_known(source);
  bool is_path = strchr(source, '/') || strcmp(source, "-") == 0;
  if (!text && !is_path && access(source, F_OK))
    return unknown_name(source);
  clp_status status =
      text ? trace_costs_parse(source, text, strlen(text), costs) : trace_costs_read(source, costs);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}
