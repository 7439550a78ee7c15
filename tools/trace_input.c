/* SPDX-License-Identifier: MIT */
/* What commands that read traces have in common. */
#include "trace_input.h"

#include "program.h"

#include <inttypes.h>

int clpi_open_trace(const char *path, bool is_lenient, trace_reader **reader)
{
  clp_status status = trace_open(path, reader);
  if (status)
    return clpi_failed(status);
  trace_reader_notes(*reader)->is_lenient = is_lenient;
  return CLPI_EXIT_SUCCESS;
}

void clpi_tell_left_out(trace_reader *reader)
{
  const trace_notes *notes = trace_reader_notes(reader);
  uint64_t line = notes->first_left_out, count = notes->left_out;
  if (notes->broken_line)
    clpi_complain("remark: %s: line %" PRIu64 ", the last one, has no end and is left out",
                  trace_name(reader), notes->broken_line);
  if (count > 0)
    clpi_complain("remark: %s: %" PRIu64 " free%s of what was allocated before it begins %s left "
                  "out, the first in line %" PRIu64,
                  trace_name(reader), count, count > 1 ? "s" : "", count > 1 ? "are" : "is", line);
}

int clpi_nothing_to(const char *command, const trace_reader *reader)
{
  return clpi_complain("%s: no allocation is recorded there, so there is nothing to %s",
                       trace_name(reader), command);
}

static void show_progress(const trace_replay_progress *progress, void *bar)
{
  clpi_progress_update(bar, progress->done_bytes, progress->total_bytes, progress->operations);
}

trace_replay_options clpi_replay_with_bar(const trace_replay_options *options, clpi_progress *bar)
{
  trace_replay_options with_bar = *options;
  with_bar.on_progress = show_progress;
  with_bar.user_data = bar;
  return with_bar;
}
