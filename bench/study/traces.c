/* SPDX-License-Identifier: MIT */
/* The traces of the study. */
#include "traces.h"

#include "../failed.h"
#include "programs.h"
#include "run.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double scales[] = {1.0 / 1024, 1.0 / 64, 0.9, 0.97, 1.03, 1.1, 4};

/* The message names the trace. */
static bool failed(void)
{
  return bench_failed("%s", clp_last_error()->message);
}

/* The next on the list, whose reader stands. */
static bool add(study_traces *traces, study_group group, trace_reader *reader, double scale)
{
  study_trace *trace = &traces->list[traces->count++];
  trace->group = group;
  trace->reader = reader;
  trace->scale = scale;
  return study_find_peak(trace) || failed();
}

/* Of a file, without its folder and endings; only what needs no quotes anywhere. */
static void name_after(study_trace *trace, const char *path)
{
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  snprintf(trace->name, sizeof trace->name, "%.*s", (int)strcspn(file, "."), file);
  for (char *letter = trace->name; *letter != '\0'; letter++)
    if (!isalnum((unsigned char)*letter))
      *letter = '_';
}

static bool add_recorded(study_traces *traces, const char *path)
{
  trace_reader *reader;
  if (trace_open(path, &reader))
    return failed();
  name_after(&traces->list[traces->count], path);
  return add(traces, STUDY_RECORDED, reader, 1);
}

static bool add_scaled(study_traces *traces, const study_trace *recorded)
{
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    study_trace *copy = &traces->list[traces->count];
    snprintf(copy->name, sizeof copy->name, "%.20s x %.3g", recorded->name, scales[i]);
    if (!add(traces, STUDY_SCALED, recorded->reader, scales[i]))
      return false;
  }
  return true;
}

/* A reader of what the program writes; NULL: said why. */
static trace_reader *open_program(size_t index, uint64_t seed)
{
  trace_reader *reader = NULL;
  FILE *file = tmpfile();
  if (file == NULL) {
    bench_failed("there can be no temporary file");
    return NULL;
  }
  study_program_write(index, seed, file);
  rewind(file); /* writes out what is buffered */
  int descriptor = ferror(file) ? -1 : dup(fileno(file));
  if (descriptor < 0)
    bench_failed("a temporary file cannot be written");
  else if (trace_open_descriptor(descriptor, study_program_name(index), &reader))
    failed();
  fclose(file);
  return reader;
}

static bool add_program(study_traces *traces, size_t index, uint64_t seed)
{
  trace_reader *reader = open_program(index, seed);
  study_trace *trace = &traces->list[traces->count];
  snprintf(trace->name, sizeof trace->name, "%s", study_program_name(index));
  return reader != NULL && add(traces, STUDY_MADE_UP, reader, 1);
}

bool study_traces_open(study_traces *traces, char *const *paths, size_t count, uint64_t seed)
{
  *traces = (study_traces){.recorded = count};
  if (count > STUDY_MOST_RECORDED)
    return bench_failed("at most %d traces", STUDY_MOST_RECORDED);
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++)
    ok = add_recorded(traces, paths[i]);
  for (size_t i = 0; ok && i < count; i++)
    ok = add_scaled(traces, &traces->list[i]);
  for (size_t i = 0; ok && study_program_name(i) != NULL; i++)
    ok = add_program(traces, i, seed);
  return ok;
}

void study_traces_close(study_traces *traces)
{
  for (size_t i = 0; i < traces->count; i++)
    if (traces->list[i].group != STUDY_SCALED)
      trace_close(traces->list[i].reader);
}

const char *study_group_name(study_group group)
{
  static const char *const names[STUDY_GROUPS] = {"recorded", "scaled", "made up"};
  return names[group];
}
