/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include "core/base/cancel.h"
#include "core/base/map.h"
#include "dispatch.h"
#include "stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[CLPI_FINDING_KINDS] = {"past-end", "after-release", "unwritten",
                                                      "leak", "wrong-call"};

static struct {
  pthread_mutex_t lock; /* guards the rest */
  clpi_map known;       /* hashes of errors */
  size_t counts[CLPI_FINDING_KINDS], suppressed;
  FILE *suppressions; /* a function's pattern in each line; NULL: none */
  int json;           /* a file; -1: none */
} findings = {.lock = PTHREAD_MUTEX_INITIALIZER, .json = -1};

bool clpi_findings_begin(void)
{
  const char *suppressions = secure_getenv("CLPOOL_LAYER_SUPPRESSIONS");
  const char *json = secure_getenv("CLPOOL_LAYER_JSON");
  const char *failed = NULL;
  if (suppressions && !(findings.suppressions = fopen(suppressions, "re")))
    failed = suppressions;
  if (json && (findings.json = open(json, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0)
    failed = json;
  if (failed)
    clpi_layer_complain("cannot open %s: %s: nothing is checked", failed, strerror(errno));
  return !failed;
}

/* --- one error --- */

typedef struct report {
  FILE *text;
  const char *label; /* of the next frame */
  char place[256];   /* the innermost frame, best of the program's own code */
  unsigned quality;  /* of that */
  bool needs_lines;  /* frames without a line are left out */
  bool is_suppressed;
} report;

/* 0: it has no line; 1: it is of a Python package, or generated; 2: it is the program's. */
static unsigned quality_of(const char *frame)
{
  if (strstr(frame, "+0x"))
    return 0;
  return strstr(frame, "-packages/") || *frame == '<' ? 1 : 2;
}

static bool is_suppressed(const char *frame)
{
  char line[512], pattern[520];
  bool is_found = false;
  if (!findings.suppressions)
    return false;
  rewind(findings.suppressions);
  while (!is_found && fgets(line, sizeof(line), findings.suppressions)) {
    line[strcspn(line, "\r\n")] = '\0';
    snprintf(pattern, sizeof(pattern), "*%s*", line);
    is_found = *line && *line != '#' && fnmatch(pattern, frame, 0) == 0;
  }
  return is_found;
}

static void choose_frame(const char *frame, void *argument)
{
  report *to = argument;
  const unsigned quality = quality_of(frame);
  to->is_suppressed |= is_suppressed(frame);
  to->needs_lines |= quality > 0;
  if (*to->place && quality <= to->quality)
    return;
  snprintf(to->place, sizeof(to->place), "%s", frame);
  to->quality = quality;
}

static void put_frame(const char *frame, void *argument)
{
  report *to = argument;
  if (to->needs_lines && quality_of(frame) == 0)
    return;
  fprintf(to->text, "    %-12s %s\n", to->label, frame);
  to->label = "";
}

static void put_stack(report *to, const char *label, uint32_t stack)
{
  *to = (report){.text = to->text, .label = label, .is_suppressed = to->is_suppressed};
  clpi_stack_show(stack, choose_frame, to);
  clpi_stack_show(stack, put_frame, to);
}

/* Writes the lines of a text as an array of JSON. */
static void put_json(FILE *file, const char *text)
{
  fputs("[\"", file);
  for (; *text; text++)
    if (*text == '\n')
      fputs(text[1] ? "\", \"" : "", file);
    else
      fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c",
              (unsigned char)*text < ' ' ? ' ' : *text);
  fputs("\"]}\n", file);
}

/* Errors are marked for clpool, whose exit code is different then. */
static void write_out(const char *key, const char *text)
{
  const char *path = secure_getenv("CLPOOL_LAYER_ERRORS");
  int mark = path ? open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  char *json = NULL;
  size_t size;
  if (mark >= 0)
    close(mark);
  fputs(text, stderr);
  FILE *file = findings.json >= 0 ? open_memstream(&json, &size) : NULL;
  if (!file)
    return;
  fprintf(file, "{\"kind\": \"%s\", \"text\": ", key);
  put_json(file, text);
  fclose(file);
  if (json && write(findings.json, json, size) < 0)
    clpi_layer_complain("an error is missing in the JSON file: %s", strerror(errno));
  free(json);
}

static void tell_locked(clpi_finding_kind kind, const clpi_places *places, const char *message)
{
  char *stacks = NULL, *text = NULL;
  size_t size;
  report to = {.text = open_memstream(&stacks, &size)};
  if (!to.text)
    return;
  put_stack(&to, "called at", places->here);
  put_stack(&to, "released at", places->released);
  put_stack(&to, "allocated at", places->allocated);
  fclose(to.text);
  ++*(to.is_suppressed ? &findings.suppressed : &findings.counts[kind]);
  if (!to.is_suppressed &&
      asprintf(&text, "%s: %s%s%s\n%s", clpi_this_layer.name, message,
               places->allocated ? " allocated at " : "", to.place, stacks) > 0)
    write_out(kinds[kind], text);
  free(text);
  free(stacks);
}

static bool is_new_locked(clpi_finding_kind kind, const clpi_places *places, const char *format)
{
  const uint64_t parts[] = {kind + 1, places->here, places->allocated, places->released,
                            (uintptr_t)format};
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
    hash = (hash ^ parts[i]) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 29;
  bool is_new = !clpi_map_find(&findings.known, hash | 1);
  if (is_new && clpi_map_reserve(&findings.known))
    clpi_map_put(&findings.known, hash | 1, 1);
  return is_new;
}

void clpi_find(clpi_finding_kind kind, clpi_places places, const char *format, ...)
{
  CLPI_UNCANCELLED;
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&findings.lock);
  if (is_new_locked(kind, &places, format))
    tell_locked(kind, &places, message);
  pthread_mutex_unlock(&findings.lock);
}

void clpi_findings_sum_up(void)
{
  char line[256] = "";
  size_t sum = 0;
  for (size_t i = 0; i < CLPI_FINDING_KINDS; i++) {
    const size_t length = strlen(line), count = findings.counts[i];
    if (count > 0)
      snprintf(line + length, sizeof(line) - length, "%s%zu %s", sum ? ", " : ": ", count,
               kinds[i]);
    sum += count;
  }
  if (findings.suppressed > 0)
    clpi_layer_complain("%zu suppressed", findings.suppressed);
  clpi_layer_complain("%zu error%s%s", sum, sum == 1 ? "" : "s", line);
}
