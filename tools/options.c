/* SPDX-License-Identifier: MIT */
/* The table of options, and what is made of it: parsing, refusals, help. */
#include "options.h"

#include "layers.h"
#include "output_file.h"
#include "trace/event.h"

#include <clpool/bin.h>
#include <clpool/bytes.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

enum {
  JSON = CLPI_INFO | CLPI_REPLAY | CLPI_TUNE | CLPI_REPORT | CLPI_BENCH,
  ALL = JSON | CLPI_RECORD | CLPI_RUN | CLPI_CHECK,
  READERS = CLPI_REPLAY | CLPI_TUNE | CLPI_REPORT,
  BITS = CLP_MAX_LEADING_BITS,
  MOST_PASSES = 1000000,
  MOST_NS = 1000000000
};

#define FIELD(name) offsetof(clpi_arguments, name)

/* The next line of a help. */
#define NEXT "\n                       "

const clpi_option clpi_options[] = {
    {"output", 'o', "FILE", CLPI_RECORD, CLPI_PATH, FIELD(output),
     .help = "write the trace to FILE, which is created or overwritten. %p in" NEXT
             "its name becomes the process ID: each process gets its own file"},
    {"stacks", 0, NULL, CLPI_RECORD, CLPI_FLAG, FIELD(layer_flag),
     .help = "also record the C and Python call stack of each allocation, for" NEXT
             "clpool report; this takes up to 6 us per allocation",
     .variable = "CLPOOL_LAYER_STACKS"},
    {"output", 'o', "FILE", CLPI_REPORT, CLPI_OUTPUT, FIELD(output),
     .help = "write the report, one HTML file that needs no network"},
    {"folded", 0, "FILE", CLPI_REPORT, CLPI_OUTPUT, FIELD(folded),
     .help = "write the call stacks of the memory in use at the peak, for" NEXT
             "speedscope and flamegraph.pl"},
    {"perfetto", 0, "FILE", CLPI_REPORT, CLPI_OUTPUT, FIELD(perfetto),
     .help =
         "write counters over the trace's time, for ui.perfetto.dev and" NEXT "chrome://tracing"},
    {"time", 0, "NS", CLPI_TUNE, CLPI_NUMBER, FIELD(most_ns),
     .help = "recommend the least memory among the settings that take at most NS" NEXT
             "nanoseconds more per operation than the fastest one; 500 by" NEXT "default",
     .most = MOST_NS},
    {"cost", 0, "SOURCE", CLPI_TUNE, CLPI_COST, FIELD(cost),
     .help = "what memory operations cost: a file that clpool bench wrote, or a" NEXT
             "built-in table (nvidia-h200, the default, or pocl-cpu)"},
    {"allocator", 0, "NAME", CLPI_TUNE, CLPI_ALLOCATOR, FIELD(choice),
     .help = "the allocator whose costs to use; cl-immediate by default"},
    {"allocator", 0, "NAME", CLPI_REPLAY, CLPI_ALLOCATOR, FIELD(choice),
     .help = "the allocator to replay on; by default simulated, which needs" NEXT
             "neither a device nor memory"},
    {"allocator", 0, "NAME", CLPI_BENCH, CLPI_ALLOCATOR, FIELD(choice),
     .help = "an allocator to measure; may be given several times. By default" NEXT
             "host and those that the OpenCL device supports"},
    {"device", 0, "P.D", CLPI_REPLAY | CLPI_BENCH, CLPI_DEVICE, FIELD(choice),
     .help =
         "the OpenCL device, by its number in clpool info, such as 1.0; by" NEXT
         "default a GPU if there is one. A single number is a CUDA device," NEXT "0 by default"},
    {"arena", 0, NULL, CLPI_REPLAY | CLPI_REPORT, CLPI_ARENA, FIELD(replay.on_arena),
     .help = "carve the blocks out of large segments. SLACK is how much more than" NEXT
             "the peak in use they may take, as a fraction of that peak: 0 to 1," NEXT
             "0.016 by default"},
    {"slack", 0, "SLACK", CLPI_REPLAY | CLPI_REPORT, CLPI_ARENA, FIELD(replay.on_arena),
     .help = "the same as --arena=SLACK"},
    {"leading-bits", 0, "B", CLPI_REPLAY | CLPI_REPORT | CLPI_RUN, CLPI_NUMBER,
     FIELD(replay.pool_options.leading_bits_in_bin_id),
     .help = "leading_bits_in_bin_id of the pools, 0 to 16; 4 by default. More" NEXT
             "bits mean less padding and fewer hits; see clpool tune",
     .most = BITS, .needs_pool = true, .variable = "CLPOOL_LAYER_LEADING_BITS"},
    {"limit", 0, "BYTES", READERS | CLPI_RUN, CLPI_SIZE, FIELD(limit),
     .help = "the most memory that each pool (clpool run: each context) may take," NEXT
             "such as 512M, 1.5GiB, or 40% of a real device's memory; 0: no" NEXT "limit",
     .needs_pool = true, .variable = "CLPOOL_LAYER_LIMIT"},
    {"hold", 0, "BYTES", CLPI_RUN, CLPI_SIZE, FIELD(layer_size),
     .help = "the most memory that each context holds. By default, memory in use" NEXT
             "and held is at most 1.25 times the peak in use, plus 16 MiB",
     .variable = "CLPOOL_LAYER_HOLD"},
    {"report", 0, NULL, CLPI_RUN, CLPI_FLAG, FIELD(layer_flag),
     .help = "print to standard error, at the end, what was pooled and why other" NEXT
             "buffers and images were not",
     .variable = "CLPOOL_LAYER_REPORT"},
    {"every", 0, "N", CLPI_CHECK, CLPI_NUMBER, FIELD(layer_number),
     .help = "also look for writes past the end of a buffer after every Nth" NEXT
             "kernel that uses it; this waits for the kernel, and names it",
     .least = 1, .most = UINT_MAX, .variable = "CLPOOL_LAYER_EVERY"},
    {"guard", 0, "BYTES", CLPI_CHECK, CLPI_SIZE, FIELD(layer_size),
     .help = "the size of the zone behind each buffer; 4K by default", .most = 1 << 30,
     .variable = "CLPOOL_LAYER_GUARD"},
    {"quarantine", 0, "BYTES", CLPI_CHECK, CLPI_SIZE, FIELD(layer_size),
     .help = "released memory to keep, to find writes to it; 64M by default", .most = SIZE_MAX,
     .variable = "CLPOOL_LAYER_QUARANTINE"},
    {"fill", 0, "BYTE", CLPI_CHECK, CLPI_NUMBER, FIELD(layer_number),
     .help = "each byte of a new buffer; 255 by default: floats are NaN", .most = UCHAR_MAX,
     .variable = "CLPOOL_LAYER_FILL"},
    {"no-leaks", 0, NULL, CLPI_CHECK, CLPI_FLAG, FIELD(layer_flag),
     .help = "do not report memory that the program never releases",
     .variable = "CLPOOL_LAYER_NO_LEAKS"},
    {"suppressions", 0, "FILE", CLPI_CHECK, CLPI_PATH, FIELD(suppressions),
     .help = "leave out errors that have a function of FILE in a stack"},
    {"error-exit", 0, "N", CLPI_CHECK, CLPI_NUMBER, FIELD(error_exit),
     .help = "the exit code if there are errors, but the program's is 0; 66 by" NEXT "default",
     .most = UCHAR_MAX},
    {"json", 0, "FILE", CLPI_CHECK, CLPI_PATH, FIELD(output),
     .help = "also write each error to FILE, as a line of JSON"},
    {"no-pool", 0, NULL, CLPI_REPLAY, CLPI_FLAG, FIELD(is_bare),
     .help = "use no pool: call the allocator directly"},
    {"compare", 0, NULL, CLPI_REPLAY, CLPI_FLAG, FIELD(compares),
     .help = "replay with a pool and without one, side by side", .needs_pool = true},
    {"scale", 0, "F", CLPI_REPLAY, CLPI_SCALE, FIELD(replay.scale),
     .help = "multiply every size by F; auto: by the largest power of two, at" NEXT
             "most 1, for which the pool fits in a quarter of the device"},
    {"passes", 0, "N", CLPI_REPLAY, CLPI_NUMBER, FIELD(replay.passes),
     .help = "replay the trace N times in the same pool, and time the last pass", .least = 1,
     .most = MOST_PASSES},
    {"lenient", 0, NULL, READERS, CLPI_FLAG, FIELD(is_lenient),
     .help = "skip frees of memory that was allocated before the trace began"},
    {"plot", 'o', "FILE", CLPI_TUNE, CLPI_OUTPUT, FIELD(output),
     .help = "plot memory against time per operation, to FILE.svg"},
    {"output", 'o', "FILE", CLPI_BENCH, CLPI_OUTPUT, FIELD(output),
     .help = "write the cost file that clpool tune --cost=FILE reads"},
    {"json", 0, NULL, JSON, CLPI_FLAG, FIELD(as_json), .help = "print one JSON object"},
    {"help", 'h', NULL, ALL, CLPI_FLAG, FIELD(wants_help), .help = "print this help"},
    {0},
};

enum { OPTIONS = sizeof(clpi_options) / sizeof(clpi_options[0]) - 1 };

bool clpi_takes_allocator(const clpi_command *command, clpi_allocator_kind kind)
{
  return kind != CLPI_ALLOCATOR_SIMULATED || command->bit == CLPI_REPLAY;
}

/* --- names that are almost right --- */

bool clpi_is_almost(const char *text, const char *name)
{
  const size_t length = strcspn(text, "="), other = strlen(name), least = MIN(length, other);
  size_t begin = 0, end = 0; /* how many letters are the same there */
  while (begin < least && text[begin] == name[begin])
    begin++;
  while (end < least - begin && text[length - 1 - end] == name[other - 1 - end])
    end++;
  return MAX(length, other) - begin - end <= MIN(2, length / 2);
}

static int no_such_option(const clpi_command *command, const char *text)
{
  const char *nearest = NULL;
  for (const clpi_option *option = clpi_options; option->name; option++)
    if (option->commands & command->bit && clpi_is_almost(text + 2, option->name))
      nearest = option->name;
  return clpi_misuse("there is no option \"%s\"%s%s%s (see clpool %s --help)", text,
                     nearest ? ": did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "",
                     command->name);
}

/* --- values --- */

int clpi_set_limit(clpi_arguments *arguments, size_t device_bytes)
{
  trace_replay_options *replay = &arguments->replay;
  replay->has_limit = arguments->limit;
  if (!arguments->limit || !clp_bytes_parse(arguments->limit, device_bytes, &replay->limit_bytes))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse(
      "--limit: expected a size in bytes, because the device's memory is unknown, found \"%s\"",
      arguments->limit);
}

/* A part of the device's memory is looked at once the device is known. */
static int read_size(const clpi_option *option, const char *text, const char **size)
{
  size_t bytes;
  clp_status status = clp_bytes_parse(text, 0, &bytes);
  *size = text;
  if (status == CLP_NOT_SUPPORTED ? option->most > 0 : status != CLP_SUCCESS)
    return clpi_misuse("--%s: %s", option->name, clp_last_error()->message);
  if (!status && option->most > 0 && bytes > option->most)
    return clpi_misuse("--%s: expected at most %zu bytes, found \"%s\"", option->name, option->most,
                       text);
  return CLPI_EXIT_SUCCESS;
}

static int read_number(const clpi_option *option, const char *text, unsigned *number)
{
  uint64_t value = 0;
  bool is_number = trace_read_number(text, strlen(text), 10, &value);
  *number = (unsigned)value;
  if (is_number && value >= option->least && value <= option->most)
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--%s: expected a number from %zu to %zu, found \"%s\"", option->name,
                     option->least, option->most, text);
}

static bool read_finite(const char *text, double *number)
{
  char *end;
  *number = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*number);
}

static int read_scale(const char *text, double *scale)
{
  *scale = 0.0;
  if (strcmp(text, "auto") == 0 || (read_finite(text, scale) && *scale > 0.0))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--scale: expected auto or a number above 0, found \"%s\"", text);
}

static int read_arena(const char *text, trace_replay_options *replay)
{
  double *slack = &replay->arena_options.slack;
  replay->on_arena = true;
  if (!text || (read_finite(text, slack) && *slack >= 0.0 && *slack <= 1.0))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--arena: expected a number from 0 to 1, found \"%s\"", text);
}

static int read_allocator(const char *text, clpi_arguments *arguments)
{
  int code = clpi_find_allocator(text, &arguments->choice.kind);
  if (!code)
    arguments->allocators |= 1U << arguments->choice.kind;
  return code;
}

static int read_value(const clpi_option *option, const char *text, clpi_arguments *arguments)
{
  void *field = (char *)arguments + option->field;
  switch (option->kind) {
  case CLPI_FLAG:
    *(bool *)field = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_NUMBER:
    return read_number(option, text, field);
  case CLPI_SIZE:
    return read_size(option, text, field);
  case CLPI_SCALE:
    return read_scale(text, field);
  case CLPI_ARENA:
    return read_arena(text, &arguments->replay);
  case CLPI_ALLOCATOR:
    return read_allocator(text, arguments);
  case CLPI_DEVICE:
    return clpi_choose_device(&arguments->choice, text);
  default:
    *(const char **)field = text;
    return *text ? CLPI_EXIT_SUCCESS : clpi_misuse("--%s: the name is empty", option->name);
  }
}

/* --- what belongs together --- */

/* The path that an option names, if it is that of an output; else NULL. */
static const char *output_of(const clpi_option *option, const clpi_command *command,
                             const clpi_arguments *arguments)
{
  return option->kind == CLPI_OUTPUT && (option->commands & command->bit)
             ? *(char *const *)((const char *)arguments + option->field)
             : NULL;
}

/* Each output needs a place of its own. The figures of tune go to standard output in any case. */
static int check_outputs(const clpi_command *command, const clpi_arguments *arguments)
{
  unsigned has_stdout = arguments->as_json || command->bit == CLPI_TUNE;
  for (const clpi_option *option = clpi_options; option->name; option++) {
    const char *path = output_of(option, command, arguments);
    if (path && clpi_output_file_is_stdout(path) && has_stdout++)
      return clpi_misuse("only one output can go to standard output");
    for (const clpi_option *other = clpi_options; path && other < option; other++) {
      const char *another = output_of(other, command, arguments);
      if (another && clpi_output_file_is_same(path, another))
        return clpi_misuse("--%s and --%s name the same file, \"%s\"", other->name, option->name,
                           another);
    }
    for (size_t i = 0; path && i < arguments->trace_count; i++) {
      const char *trace = arguments->traces[i];
      if (clpi_output_file_is_same(path, strcmp(trace, "-") == 0 ? "/dev/stdin" : trace))
        return clpi_misuse("--%s would overwrite the trace, \"%s\"", option->name, path);
    }
  }
  return CLPI_EXIT_SUCCESS;
}

static int check_operands(const clpi_command *command, const clpi_arguments *arguments)
{
  const size_t count = arguments->trace_count;
  if (command->operands == CLPI_NO_OPERANDS && count > 0)
    return clpi_misuse("unexpected argument \"%s\" (see clpool %s --help)", arguments->traces[0],
                       command->name);
  if (command->operands == CLPI_ONE_TRACE && count > 1)
    return clpi_misuse("expected one trace, found another, \"%s\"%s", arguments->traces[1],
                       arguments->replay.on_arena ? " (a slack is given as --arena=SLACK)" : "");
  if (command->operands != CLPI_NO_OPERANDS && count == 0)
    return clpi_misuse("the %s is missing (see clpool %s --help)",
                       command->operands == CLPI_PROGRAM ? "program" : "trace", command->name);
  return CLPI_EXIT_SUCCESS;
}

/* --- command lines --- */

static int complain(const clpi_command *command, int found, const char *text)
{
  if (found == ':')
    return clpi_misuse("%s needs a value (see clpool %s --help)", text, command->name);
  if (found != '?') /* a letter of other commands */
    optopt = found;
  if (optopt > 0 && optopt <= UCHAR_MAX)
    return clpi_misuse("there is no option \"-%c\" (see clpool %s --help)", optopt, command->name);
  if (optopt)
    return clpi_misuse("the option takes no value: \"%s\" (see clpool %s --help)", text,
                       command->name);
  return no_such_option(command, text);
}

/* Of a letter or, beyond letters, of a place in the table. NULL: the command has none. */
static const clpi_option *find_option(const clpi_command *command, int found)
{
  if (found > UCHAR_MAX)
    return &clpi_options[found - UCHAR_MAX - 1];
  for (const clpi_option *option = clpi_options; option->name; option++)
    if (option->letter == found && (option->commands & command->bit))
      return option;
  return NULL;
}

static int read_option(const clpi_option *option, const clpi_command *command,
                       clpi_arguments *arguments)
{
  int code = read_value(option, optarg, arguments);
  if (!code && option->variable && command->operands == CLPI_PROGRAM)
    clpi_layers_set_variable(option->variable, option->value ? optarg : "1");
  return code;
}

static int read_options(const clpi_command *command, int argc, char **argv,
                        clpi_arguments *arguments)
{
  const char *letters = command->operands == CLPI_PROGRAM ? "+:ho:" : ":ho:";
  struct option names[OPTIONS + 1] = {{0}}, *name = names;
  const clpi_option *needs_pool = NULL;
  for (int i = 0; i < OPTIONS; i++) {
    int value = clpi_options[i].value                ? required_argument
                : clpi_options[i].kind == CLPI_ARENA ? optional_argument
                                                     : no_argument;
    if (clpi_options[i].commands & command->bit)
      *name++ = (struct option){clpi_options[i].name, value, NULL, UCHAR_MAX + 1 + i};
  }
  opterr = 0;
  for (int found; (found = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
    const clpi_option *option = find_option(command, found);
    if (!option)
      return complain(command, found, argv[optind - 1]);
    int code = read_option(option, command, arguments);
    if (code || arguments->wants_help)
      return code;
    needs_pool = option->needs_pool ? option : needs_pool;
  }
  return arguments->is_bare && needs_pool
             ? clpi_misuse("--%s cannot be combined with --no-pool", needs_pool->name)
             : CLPI_EXIT_SUCCESS;
}

int clpi_read_arguments(const clpi_command *command, int argc, char **argv,
                        clpi_arguments *arguments)
{
  bool is_replay = command->bit == CLPI_REPLAY; /* others are about OpenCL by default */
  *arguments = (clpi_arguments){.choice.kind = is_replay ? CLPI_ALLOCATOR_SIMULATED
                                                         : CLPI_ALLOCATOR_CL_IMMEDIATE,
                                .replay = TRACE_REPLAY_OPTIONS_INIT,
                                .cost = "nvidia-h200",
                                .most_ns = 500,
                                .error_exit = command->bit == CLPI_CHECK ? 66 : 0};
  arguments->replay.passes = 1;
  int code = read_options(command, argc, argv, arguments);
  if (code || arguments->wants_help)
    return code;
  arguments->traces = argv + optind;
  arguments->trace_count = (size_t)(argc - optind);
  code = check_operands(command, arguments);
  if (!code)
    code = clpi_check_devices(&arguments->choice, arguments->allocators
                                                      ? arguments->allocators
                                                      : 1U << arguments->choice.kind);
  return code ? code : check_outputs(command, arguments);
}

/* --- help --- */

static void print_option(const clpi_option *option)
{
  char name[64], letter[8] = "";
  if (option->letter)
    snprintf(letter, sizeof(letter), "-%c, ", option->letter);
  snprintf(name, sizeof(name), "  %s--%s%s%s", letter, option->name,
           option->value                ? "="
           : option->kind == CLPI_ARENA ? "[=SLACK]"
                                        : "",
           option->value ? option->value : "");
  printf("%-22s %s\n", name, option->help);
}

void clpi_print_help(const clpi_command *command)
{
  bool names_allocators = false;
  printf("Usage: clpool %s %s\n%s\nOptions:\n", command->name, command->usage, command->about);
  for (const clpi_option *option = clpi_options; option->name; option++) {
    if (!(option->commands & command->bit))
      continue;
    print_option(option);
    names_allocators |= option->kind == CLPI_ALLOCATOR;
  }
  const char *before = "NAME is one of ";
  for (clpi_allocator_kind i = 0; names_allocators && i < CLPI_ALLOCATOR_KINDS; i++)
    if (clpi_takes_allocator(command, i)) {
      printf("%s%s", before, clpi_allocators[i].name);
      before = ", ";
    }
  printf("%s\nExamples:\n%s", names_allocators ? ".\n" : "", command->examples);
}
