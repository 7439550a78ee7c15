/* SPDX-License-Identifier: MIT */
/* Counters, an event a line. In chrome://tracing those of one event are stacked: active, padding
 * and held bytes make the managed ones, which have a track of their own as well. */
#include "report_perfetto.h"

#include "json.h"

#include <inttypes.h>

void clpi_perfetto_begin(clpi_perfetto *perfetto, FILE *file, const char *trace)
{
  *perfetto = (clpi_perfetto){.file = file};
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":",
        file);
  clpi_json json = clpi_json_start(file);
  clpi_json_begin_object(&json, NULL);
  clpi_json_string(&json, "name", trace);
  clpi_json_end_object(&json);
  putc('}', file);
}

/* What kind of event: counters, or a mark across all tracks. */
static const char counter[] = "\"ph\":\"C\"";
static const char mark[] = "\"ph\":\"i\",\"s\":\"g\"";

/* Everything but the arguments; times are in microseconds. */
static void begin_event(const clpi_perfetto *perfetto, const char *name, const char *kind,
                        trace_moment when)
{
  fprintf(perfetto->file,
          ",\n{\"name\":\"%s\",%s,\"pid\":1,\"ts\":%" PRIu64 ".%03" PRIu64 ",\"args\":{", name,
          kind, when.nanoseconds / 1000, when.nanoseconds % 1000);
}

static void write_managed(clpi_perfetto *perfetto, const trace_sample *sample)
{
  size_t managed = trace_sample_managed_bytes(sample);
  if (managed == perfetto->managed_bytes)
    return;
  perfetto->managed_bytes = managed;
  begin_event(perfetto, "managed", counter, sample->when);
  fprintf(perfetto->file, "\"bytes\":%zu}}", managed);
}

static void write_allocations(clpi_perfetto *perfetto, const trace_sample *sample)
{
  perfetto->hits += sample->outcome == TRACE_REPLAY_HIT;
  perfetto->misses += sample->outcome == TRACE_REPLAY_MISS;
  begin_event(perfetto, "allocations", counter, sample->when);
  fprintf(perfetto->file, "\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 "}}", perfetto->hits,
          perfetto->misses);
}

static void write_refusal(const clpi_perfetto *perfetto, const trace_sample *sample)
{
  begin_event(perfetto, "allocation refused", mark, sample->when);
  fprintf(perfetto->file, "\"bytes\":%zu}}", sample->bytes);
}

void clpi_perfetto_add(clpi_perfetto *perfetto, const trace_sample *sample)
{
  if (sample->outcome == TRACE_REPLAY_SKIPPED)
    return;
  if (sample->outcome == TRACE_REPLAY_REFUSED) {
    write_refusal(perfetto, sample);
    return;
  }
  begin_event(perfetto, "memory", counter, sample->when);
  fprintf(perfetto->file, "\"active\":%zu,\"padding\":%zu,\"held\":%zu}}", sample->active_bytes,
          sample->padding_bytes, sample->held_bytes);
  write_managed(perfetto, sample);
  if (sample->outcome != TRACE_REPLAY_FREED)
    write_allocations(perfetto, sample);
}

void clpi_perfetto_end(clpi_perfetto *perfetto)
{
  fputs("\n]}\n", perfetto->file);
}
