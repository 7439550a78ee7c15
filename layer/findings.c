/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include "core/base/cancel.h"
#include "core/base/map.h"
#include "dispatch.h"

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
  FILE *json;         /* NULL: none */
} findings = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool clpi_findings_begin(void)
{
  static char error[1 << 20]; /* is written by one call, because others may write to the file */
  const char *suppressions = secure_getenv("CLPOOL_LAYER_SUPPRESSIONS");
  const char *json = secure_getenv("CLPOOL_LAYER_JSON"), *failed = NULL;
  if (suppressions && !(findings.suppressions = fopen(suppressions, "re")))
    failed = suppressions;
  if (json && !(findings.json = fopen(json, "ae")))
    failed = json;
  if (failed)
    clpi_layer_complain("cannot open %s: %s: nothing is checked", failed, strerror(errno));
  else if (json)
    setbuffer(findings.json, error, sizeof(error));
  return !failed;
}

/* --- one error, whose stacks are texts (clpi_stack_text) --- */

/* 0: it has no line; 1: it is of a package, a system's header, or generated; 2: the program's. */
static int quality_of(const char *frame)
{
  const bool is_header = strncmp(frame, "/usr/", 5) == 0 && strstr(frame, "/include/");
  const bool is_other = is_header || *frame == '<' || strstr(frame, "-packages/");
  return strstr(frame, "+0x") ? 0 : is_other ? 1 : 2;
}

/* The innermost frame, best of the program's own code. */
static const char *best_of(const char *stack)
{
  const char *best = stack;
  for (const char *frame = stack; *frame; frame += strlen(frame) + 1)
    if (quality_of(frame) > quality_of(best))
      best = frame;
  return best;
}

static bool is_suppressed(const char *stack)
{
  char line[512], pattern[520];
  bool is_found = false;
  rewind(findings.suppressions);
  while (!is_found && fgets(line, sizeof(line), findings.suppressions)) {
    line[strcspn(line, "\r\n")] = '\0';
    snprintf(pattern, sizeof(pattern), "*%s*", line);
    for (const char *frame = stack; *frame && !is_found; frame += strlen(frame) + 1)
      is_found = *line && *line != '#' && fnmatch(pattern, frame, 0) == 0;
  }
  return is_found;
}

/* Frames without a line are left out if others have one. */
static void put_stack(FILE *to, const char *label, const char *stack)
{
  const int worst = quality_of(best_of(stack)) > 0;
  for (const char *frame = stack; *frame; frame += strlen(frame) + 1)
    if (quality_of(frame) >= worst) {
      fprintf(to, "    %-12s %s\n", label, frame);
      label = "";
    }
}

/* Errors are marked for clpool, whose exit code is different then. */
static void write_out(const char *kind, const char *text)
{
  const char *mark = secure_getenv("CLPOOL_LAYER_ERRORS");
  FILE *json = findings.json;
  if (mark)
    close(open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  fputs(text, stderr);
  if (!json)
    return;
  fprintf(json, "{\"kind\": \"%s\", \"text\": [\"", kind);
  for (; *text; text++)
    if (*text == '\n')
      fputs(text[1] ? "\", \"" : "\"]}\n", json);
    else
      fprintf(json, *text == '"' || *text == '\\' ? "\\%c" : "%c",
              (unsigned char)*text < ' ' ? ' ' : *text);
  if (fflush(json))
    clpi_layer_complain("an error is missing in the JSON file: %s", strerror(errno));
}

__attribute__((format(printf, 3, 0))) static void tell_locked(clpi_finding_kind kind,
                                                              const clpi_places *places,
                                                              const char *format, va_list arguments)
{
  static const char *const labels[] = {"called at", "released at", "allocated at"};
  char *text = NULL;
  size_t size;
  bool is_told = true;
  FILE *to = open_memstream(&text, &size);
  if (!to)
    return;
  char *stacks[] = {clpi_stack_text(places->here), clpi_stack_text(places->released),
                    clpi_stack_text(places->allocated)};
  fprintf(to, "%s: ", clpi_this_layer.name);
  vfprintf(to, format, arguments);
  fprintf(to, "%s%s\n", stacks[2] ? " allocated at " : "", stacks[2] ? best_of(stacks[2]) : "");
  for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
    if (stacks[i]) {
      is_told &= !findings.suppressions || !is_suppressed(stacks[i]);
      put_stack(to, labels[i], stacks[i]);
      free(stacks[i]);
    }
  fclose(to);
  ++*(is_told ? &findings.counts[kind] : &findings.suppressed);
  if (is_told && text)
    write_out(kinds[kind], text);
  free(text);
}

void clpi_find(clpi_finding_kind kind, clpi_places places, const char *format, ...)
{
  CLPI_UNCANCELLED;
  const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
  const uint64_t stacks = (places.here * odd + places.released) * odd + places.allocated;
  const uint64_t hash = ((stacks * odd + kind) * odd + (uintptr_t)format) | 1;
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&findings.lock);
  if (!clpi_map_find(&findings.known, hash)) {
    tell_locked(kind, &places, format, arguments);
    if (clpi_map_reserve(&findings.known))
      clpi_map_put(&findings.known, hash, 1);
  }
  pthread_mutex_unlock(&findings.lock);
  va_end(arguments);
}

void clpi_findings_sum_up(void)
{
  char line[256] = "";
  size_t sum = 0, length = 0;
  for (size_t i = 0; i < CLPI_FINDING_KINDS; sum += findings.counts[i++])
    if (findings.counts[i] > 0)
      length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%zu %s",
                                 sum ? ", " : ": ", findings.counts[i], kinds[i]);
  if (findings.suppressed > 0)
    clpi_layer_complain("%zu suppressed", findings.suppressed);
  clpi_layer_complain("%zu error%s%s", sum, sum == 1 ? "" : "s", line);
}
