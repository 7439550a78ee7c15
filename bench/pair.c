/* SPDX-License-Identifier: MIT */
/* What one warm pair, an allocation and its release, costs: malloc and drivers against pools. */
#include "pair.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pair_failed(const char *what)
{
  fprintf(stderr, "pair: %s: %s\n", what, clp_last_error()->message);
  return false;
}

bool pair_run_pooled(void *self, size_t times)
{
  const pair_pool *pooled = self;
  clp_buffer *buffer = NULL;
  for (size_t i = 0; i < times; i++)
    if (clp_pool_allocate(pooled->pool, pooled->bytes, &buffer) != CLP_SUCCESS ||
        clp_buffer_release(buffer) != CLP_SUCCESS)
      return pair_failed("the pool");
  return true;
}

static bool run_malloc(void *self, size_t times)
{
  const size_t *bytes = self;
  for (size_t i = 0; i < times; i++) {
    void *memory = malloc(*bytes);
    if (memory == NULL) {
      fprintf(stderr, "pair: malloc of %zu bytes failed\n", *bytes);
      return false;
    }
    __asm__ volatile("" : : "r"(memory) : "memory"); /* else the pair is optimized away */
    free(memory);
  }
  return true;
}

static bool contest_on_host(const pair_options *options, clp_pool *pool, size_t bytes)
{
  pair_pool pooled = {.pool = pool, .bytes = bytes};
  bench_contender contenders[] = {
      {.name = "malloc, free", .run = run_malloc, .self = &bytes},
      {.name = "pool on host", .run = pair_run_pooled, .self = &pooled},
  };
  size_t count = sizeof contenders / sizeof *contenders;
  if (!bench_contest(contenders, count, &options->effort))
    return false;
  options->report("host", bytes, contenders, count);
  return true;
}

static bool pair_on_host(const pair_options *options)
{
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;
  bool ok = clp_host_allocator_create(0, &allocator) == CLP_SUCCESS &&
            clp_pool_create(allocator, NULL, &pool) == CLP_SUCCESS;
  if (!ok)
    (void)pair_failed("a pool of host memory");
  for (size_t i = 0; ok && i < options->size_count; i++)
    ok = contest_on_host(options, pool, options->sizes[i]);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return ok;
}

static void report_table(const char *device, size_t bytes, const bench_contender *contenders,
                         size_t count)
{
  printf("\n%s, %zu bytes\n", device, bytes);
  for (size_t i = 0; i < count; i++)
    printf("  %-28s %12.1f ns  %9.4f\n", contenders[i].name, contenders[i].ns, contenders[i].ratio);
}

static void print_json_string(const char *text)
{
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      putchar('\\');
    if ((unsigned char)*text >= ' ')
      putchar(*text);
  }
  putchar('"');
}

/* One JSON object a line and contender. */
static void report_json(const char *device, size_t bytes, const bench_contender *contenders,
                        size_t count)
{
  for (size_t i = 0; i < count; i++) {
    printf("{\"device\": ");
    print_json_string(device);
    printf(", \"bytes\": %zu, \"pair\": ", bytes);
    print_json_string(contenders[i].name);
    printf(", \"ns\": %.2f, \"ratio\": %.5f, \"compared_with\": ", contenders[i].ns,
           contenders[i].ratio);
    print_json_string(contenders[0].name);
    printf("}\n");
  }
}

static int usage(FILE *stream, int status)
{
  fputs("usage: pair [--bytes=N] [--rounds=N] [--json]\n"
        "Times warm pairs, one allocation and its release, of each kind of memory here.\n"
        "  --bytes=N   the size (default: 4096, then 1048576)\n"
        "  --rounds=N  how many turns each contender has (default 15)\n"
        "  --json      an object a line instead of a table\n",
        stream);
  return status;
}

/* A whole number from 1 to `most`; 0 for anything else. */
static size_t parse_number(const char *text, size_t most)
{
  char *end = NULL;
  unsigned long long number = strtoull(text, &end, 10);
  bool whole = text[0] >= '0' && text[0] <= '9' && *end == '\0';
  return whole && number <= most ? (size_t)number : 0;
}

int main(int argc, char **argv)
{
  static const struct option known[] = {{"bytes", required_argument, NULL, 'b'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  size_t sizes[] = {4096, 1048576}, devices = 0;
  pair_options options = {.effort = {.rounds = 15, .ns_a_turn = 4e6},
                          .sizes = sizes,
                          .size_count = 2,
                          .report = report_table};

  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (option == 'h')
      return usage(stdout, EXIT_SUCCESS);
    if (option == 'j')
      options.report = report_json;
    else if (option == 'b' && (sizes[0] = parse_number(optarg, SIZE_MAX / 2)) != 0)
      options.size_count = 1;
    else if (option != 'r' ||
             (options.effort.rounds = (unsigned)parse_number(optarg, BENCH_MAX_ROUNDS)) == 0)
      return usage(stderr, 2);
  }
  if (optind < argc)
    return usage(stderr, 2);

  if (options.report == report_table)
    printf("clpool %s: a warm pair, median of %u rounds, and as a ratio to the first of its kind\n",
           clp_version(), options.effort.rounds);
  if (!pair_on_host(&options) || !pair_on_opencl(&options, &devices))
    return EXIT_FAILURE;
  if (devices == 0)
    fputs("pair: no OpenCL device here, host memory only\n", stderr);
  return EXIT_SUCCESS;
}
