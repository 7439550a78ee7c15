/* SPDX-License-Identifier: MIT */
/* Counters, an event a line, for each span of the timeline: what was most in it. In
 * chrome://tracing those of one event are stacked: active, padding and held bytes make the managed
 * ones, which have a track of their own as well. */
#include "json.h"
#include "report.h"

#include <inttypes.h>
#include <sys/param.h>

/* Everything but the arguments; times are in microseconds. `kind` is that of counters, or of a mark
 * across all tracks. */
static void begin_event(FILE *file, const char *name, const char *kind, trace_moment when)
{
  fprintf(file, ",\n{\"name\":\"%s\",%s,\"pid\":1,\"ts\":%" PRIu64 ".%03" PRIu64 ",\"args\":{",
          name, kind, when.nanoseconds / 1000, when.nanoseconds % 1000);
}

static void write_memory(FILE *file, const trace_span *span, trace_moment when)
{
  static const char counter[] = "\"ph\":\"C\"";
  size_t managed = span->managed_bytes, active = span->active_bytes;
  size_t held = MIN(span->held_bytes, managed - active);
  begin_event(file, "memory", counter, when);
  fprintf(file, "\"active\":%zu,\"padding\":%zu,\"held\":%zu}}", active, managed - active - held,
          held);
  begin_event(file, "managed", counter, when);
  fprintf(file, "\"bytes\":%zu}}", managed);
}

void clpi_report_write_perfetto(FILE *file, const clpi_report *report)
{
  const trace_timeline *timeline = &report->survey->timeline;
  uint64_t hits = 0, misses = 0;
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":",
        file);
  clpi_json json = {.file = file};
  clpi_json_begin(&json, NULL, '{');
  clpi_json_string(&json, "name", report->trace);
  clpi_json_end(&json, '}');
  putc('}', file);
  for (size_t i = 0; i < timeline->count; i++) {
    const trace_span *span = &timeline->spans[i];
    write_memory(file, span, span->first);
    hits += span->hits;
    misses += span->misses;
    if (span->hits + span->misses > 0) {
      begin_event(file, "allocations", "\"ph\":\"C\"", span->first);
      fprintf(file, "\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 "}}", hits, misses);
    }
    if (span->refused > 0) {
      begin_event(file, "allocations refused", "\"ph\":\"i\",\"s\":\"g\"", span->first);
      fprintf(file, "\"count\":%" PRIu64 "}}", span->refused);
    }
  }
  if (timeline->count > 0)
    write_memory(file, &timeline->spans[timeline->count - 1],
                 timeline->spans[timeline->count - 1].last);
  fputs("\n]}\n", file);
}
