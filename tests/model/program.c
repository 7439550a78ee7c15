/* SPDX-License-Identifier: MIT */
/* Random programs as text. */
#include "program.h"

#include <string.h>

static const char *const setting_names[] = {
#define X(name) #name,
    MODEL_CONFIG(X)
#undef X
};
static const char *const verb_names[] = {
#define X(name, often) #name,
    MODEL_VERBS(X)
#undef X
};
enum { SETTINGS = sizeof(setting_names) / sizeof(setting_names[0]) };
_Static_assert(sizeof(model_config) == SETTINGS * sizeof(unsigned long), "numbers and no more");

static unsigned long *setting(model_program *program, size_t at)
{
  return (unsigned long *)(void *)&program->config + at;
}

void model_program_print(const model_program *program, FILE *file)
{
  model_program copy = *program;
  for (size_t i = 0; i < SETTINGS; i++)
    if (*setting(&copy, i))
      fprintf(file, "%s %lu\n", setting_names[i], *setting(&copy, i));
  fprintf(file, "# verb slot pool stream value\n");
  for (const model_call *call = copy.calls; call < copy.calls + copy.count; call++)
    fprintf(file, "%s %u %u %d %zu\n", verb_names[call->verb], call->slot, call->pool, call->stream,
            call->value);
}

static size_t find_name(const char *const *names, size_t count, const char *name)
{
  size_t i = 0;
  while (i < count && strcmp(names[i], name) != 0)
    i++;
  return i;
}

static bool is_call_in_range(const model_call *call)
{
  return call->slot < MODEL_SLOTS && call->pool < MODEL_POOLS && call->stream >= -1 &&
         call->stream < MODEL_STREAMS;
}

static bool read_line(model_program *program, const char *line)
{
  char name[32];
  unsigned long value;
  model_call call;
  int fields =
      sscanf(line, "%31s %u %u %d %zu", name, &call.slot, &call.pool, &call.stream, &call.value);
  if (fields < 1 || line[0] == '#')
    return true;
  size_t verb = find_name(verb_names, MODEL_VERB_COUNT, name);
  size_t at = find_name(setting_names, SETTINGS, name);
  if (at < SETTINGS && sscanf(line, "%*s %lu", &value) == 1) {
    *setting(program, at) = value;
    return true;
  }
  call.verb = (model_verb)verb;
  if (verb == MODEL_VERB_COUNT || fields != 5 || program->count == MODEL_CALLS_MAX ||
      !is_call_in_range(&call))
    return false;
  program->calls[program->count++] = call;
  return true;
}

static bool is_config_in_range(const model_config *config)
{
  return config->device <= MODEL_SIMULATED && config->freeing < 3 && config->defect < 5 &&
         config->slack_percent <= 100 && config->bits <= 16;
}

bool model_program_read(model_program *program, FILE *file)
{
  char line[256];
  *program = (model_program){.count = 0};
  for (unsigned number = 1; fgets(line, sizeof(line), file); number++)
    if (!read_line(program, line)) {
      fprintf(stderr, "line %u of the program is no setting and no call: %s", number, line);
      return false;
    }
  if (!is_config_in_range(&program->config))
    fprintf(stderr, "a setting of the program is out of range\n");
  return is_config_in_range(&program->config);
}
