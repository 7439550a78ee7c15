/* SPDX-License-Identifier: MIT */
/* The command line of a benchmark. */
#include "options.h"

#include "source.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_usage(const bench_program *program)
{
  printf("usage: %s [OPTION]...\n%s\n"
         "  --bytes=N       the size of blocks, where they have one (default: 4096, then 1048576)\n"
         "  --threads=N     at most so many at once (default: one for each processor)\n"
         "  --rounds=N      how many turns each contender has, 1 to %d (default: 31)\n"
         "  --contest=LIST  only these (default: %s):\n"
         "                  %s,%s\n",
         program_invocation_short_name, program->purpose, BENCH_MAX_ROUNDS, program->contests,
         program->contests, program->by_name);
  if (program->has_devices)
    puts(
        "  --device=P.D    of OpenCL, only device D of platform P (default: all; see clpool info)");
  puts("  --json          an object a line instead of tables");
}

/* A whole number from 1 to `most`; 0 for anything else, and said so. */
static size_t parse_number(const char *option, const char *text, size_t most)
{
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && number >= 1 &&
      number <= most)
    return (size_t)number;
  bench_failed("--%s takes a whole number from 1 to %zu, not '%s'", option, most, text);
  return 0;
}

bool bench_is_in(const char *list, const char *name, size_t length)
{
  for (; *list != '\0'; list += *list == ',') {
    size_t next = strcspn(list, ",");
    if (next == length && strncmp(list, name, length) == 0)
      return true;
    list += next;
  }
  return false;
}

static bool parse_contests(const bench_program *program, const char *list)
{
  for (const char *name = list;; name++) {
    size_t length = strcspn(name, ",");
    if (!bench_is_in(program->contests, name, length) &&
        !bench_is_in(program->by_name, name, length))
      return bench_failed("there is no contest '%.*s'", (int)length, name);
    name += length;
    if (*name == '\0')
      return true;
  }
}

static bool parse_device(const bench_program *program, const char *text, bench_options *options)
{
  int length = 0;
  options->chose_device = true;
  if (!program->has_devices)
    return bench_failed("--device is not for this program, which needs no OpenCL");
  /* sscanf also takes signs and blanks, and what is too large. */
  if (strspn(text, "0123456789.") == strlen(text) && strlen(text) < 10 &&
      sscanf(text, "%u.%u%n", &options->platform, &options->device, &length) == 2 &&
      text[length] == '\0')
    return true;
  return bench_failed("--device takes a platform and a device, such as 0.0, not '%s'", text);
}

static bool read_option(int option, const bench_program *program, bench_options *options)
{
  switch (option) {
  case 'b':
    options->size_count = 1;
    return (options->sizes[0] = parse_number("bytes", optarg, SIZE_MAX / 2)) != 0;
  case 't':
    options->threads = (unsigned)parse_number("threads", optarg, BENCH_MAX_THREADS);
    return options->threads != 0;
  case 'r':
    options->effort.rounds = (unsigned)parse_number("rounds", optarg, BENCH_MAX_ROUNDS);
    return options->effort.rounds != 0;
  case 'c':
    options->contests = optarg;
    return parse_contests(program, optarg);
  case 'd':
    return parse_device(program, optarg, options);
  case 'j':
    return options->json = true;
  default:
    return false; /* getopt has said why */
  }
}

static unsigned online_processors(void)
{
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > BENCH_MAX_THREADS ? BENCH_MAX_THREADS : (unsigned)count;
}

bool bench_read_options(int argc, char **argv, const bench_program *program, bench_options *options,
                        int *status)
{
  static const struct option known[] = {
      {"bytes", required_argument, NULL, 'b'},   {"threads", required_argument, NULL, 't'},
      {"rounds", required_argument, NULL, 'r'},  {"json", no_argument, NULL, 'j'},
      {"contest", required_argument, NULL, 'c'}, {"device", required_argument, NULL, 'd'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
  *options = (bench_options){.effort = {.rounds = 31, .ns_a_turn = 2e6},
                             .sizes = {4096, 1048576},
                             .size_count = 2,
                             .threads = online_processors(),
                             .contests = program->contests};
  *status = 2;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (option == 'h') {
      print_usage(program);
      *status = EXIT_SUCCESS;
      return false;
    }
    if (!read_option(option, program, options))
      return false;
  }
  return optind == argc || bench_failed("'%s' is no option", argv[optind]);
}
