/* SPDX-License-Identifier: MIT */
/* What commands that read traces have in common. */
#include "trace_input.h"

#include "program.h"

#include <inttypes.h>

int clpi_open_trace(const char *path, bool is_lenient, trace_reader **reader)
{
  clp_status status = trace_open(-1, path, reader);
  if (status)
    return clpi_failed(status);
  (*reader)->is_lenient = is_lenient;
  return CLPI_EXIT_SUCCESS;
}

void clpi_tell_left_out(trace_reader *reader)
{
  uint64_t line = reader->first_left_out, count = reader->left_out;
  if (reader->broken_line)
    clpi_complain("remark: %s: line %" PRIu64 ", the last one, has no end and is left out",
                  reader->lines.name, reader->broken_line);
  if (count > 0)
    clpi_complain("remark: %s: %" PRIu64 " free%s of what was allocated before it begins %s left "
                  "out, the first in line %" PRIu64,
                  reader->lines.name, count, count > 1 ? "s" : "", count > 1 ? "are" : "is", line);
}

int clpi_nothing_to(const char *command, const trace_reader *reader)
{
  return clpi_complain("%s: no allocation is recorded there, so there is nothing to %s",
                       reader->lines.name, command);
}
