/* SPDX-License-Identifier: MIT */
/* clpool - the program: finds the command and runs it. */
#include "options.h"

#include <clpool/version.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const clpi_command *const clpi_commands[] = {
    &clpi_info_command,  &clpi_record_command, &clpi_run_command,
    &clpi_check_command, &clpi_replay_command, &clpi_tune_command,
    &clpi_bench_command, &clpi_report_command, NULL,
};

const clpi_command *clpi_find_command(const char *name)
{
  for (size_t i = 0; clpi_commands[i]; i++)
    if (strcmp(clpi_commands[i]->name, name) == 0)
      return clpi_commands[i];
  return NULL;
}

static int no_such(const char *what, const char *text, const char *nearest)
{
  return clpi_misuse("there is no %s \"%s\"%s%s%s (see clpool --help)", what, text,
                     nearest ? ": did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int unknown_command(const char *name)
{
  const char *nearest = NULL;
  for (size_t i = 0; clpi_commands[i]; i++)
    if (clpi_is_almost(name, clpi_commands[i]->name))
      nearest = clpi_commands[i]->name;
  return no_such("command", name, nearest);
}

static void print_help(void)
{
  puts("Usage: clpool COMMAND [OPTION]...\n"
       "Device-memory pools: shows what this machine has and what a pool does for a program.\n"
       "\n"
       "Commands:");
  for (size_t i = 0; clpi_commands[i]; i++)
    printf("  %-8s %s\n", clpi_commands[i]->name, clpi_commands[i]->summary);
  puts("  help     explain a command: clpool help COMMAND\n"
       "\n"
       "Options:\n"
       "  --help     print this help\n"
       "  --version  print the version\n"
       "\n"
       "Examples:\n"
       "  clpool info\n"
       "  clpool record -o run.csv ./program\n"
       "  CLPOOL_TRACE=run.csv ./program-that-uses-clpool\n"
       "  clpool tune run.csv\n"
       "  clpool report run.csv -o report.html\n"
       "\n"
       "Environment variables: doc/environment.md, or clpool(1).\n"
       "Exit codes: 0 success; 1 the run failed; 2 invalid arguments or an unreadable trace.");
}

static bool is_one_of(const char *argument, const char *one, const char *other)
{
  return strcmp(argument, one) == 0 || strcmp(argument, other) == 0;
}

static int help(const char *name, const char *extra)
{
  if (name && (is_one_of(name, "--help", "-h") || strcmp(name, "help") == 0))
    name = NULL;
  const clpi_command *command = name ? clpi_find_command(name) : NULL;
  if (extra)
    return clpi_misuse("unexpected argument \"%s\" (see clpool --help)", extra);
  if (name && !command)
    return unknown_command(name);
  if (command)
    clpi_print_help(command);
  else
    print_help();
  return CLPI_EXIT_SUCCESS;
}

static int run_command(const clpi_command *command, int argc, char **argv)
{
  char name[64];
  clpi_arguments arguments;
  if (command->operands != CLPI_PROGRAM)
    unsetenv("CLPOOL_TRACE"); /* it is for programs that are run, and may name the trace */
  snprintf(name, sizeof(name), "clpool %s", command->name);
  clpi_set_program_name(name);
  int code = clpi_read_arguments(command, argc, argv, &arguments);
  if (!code && arguments.wants_help)
    clpi_print_help(command);
  else if (!code)
    code = command->run(&arguments);
  code = clpi_finish_output(code);
  clpi_set_program_name("clpool");
  return code;
}

/* Where standard input, output or error is closed, a file would be opened in its place, and get
 * what is meant for it. What is there instead can be neither read nor written. */
static void hold_standard_descriptors(void)
{
  int descriptor;
  do {
    descriptor = open("/dev/null", O_PATH);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  close(descriptor);
}

int main(int argc, char **argv)
{
  hold_standard_descriptors();
  if (argc < 2)
    return clpi_misuse("a command is missing (see clpool --help)");
  const char *first = argv[1];
  if (strcmp(first, "--complete") == 0) { /* for the shells' completion */
    clpi_complete((size_t)argc - 2, argv + 2);
    return clpi_finish_output(CLPI_EXIT_SUCCESS);
  }
  if (is_one_of(first, "--help", "-h") || strcmp(first, "help") == 0)
    return clpi_finish_output(help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL));
  if (is_one_of(first, "--version", "-V")) {
    printf("clpool %s\n", clp_version());
    return clpi_finish_output(CLPI_EXIT_SUCCESS);
  }
  if (first[0] == '-')
    return no_such("option", first,
                   clpi_is_almost(first, "--help")      ? "--help"
                   : clpi_is_almost(first, "--version") ? "--version"
                                                        : NULL);
  const clpi_command *command = clpi_find_command(first);
  return command ? run_command(command, argc - 1, argv + 1) : unknown_command(first);
}
