/* SPDX-License-Identifier: MIT */
/* clpool - the program: finds the command and runs it. */
#include "program.h"

#include <clpool/version.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const clpi_command *const commands[] = {
    &clpi_info_command, &clpi_record_command, &clpi_run_command,    &clpi_replay_command,
    &clpi_tune_command, &clpi_bench_command,  &clpi_report_command,
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static const clpi_command *find_command(const char *name)
{
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

static int unknown_command(const char *name)
{
  return clpi_misuse("there is no command \"%s\" (see clpool --help)", name);
}

static void print_help(void)
{
  puts("Usage: clpool COMMAND [OPTION]...\n"
       "Pools of device memory: what this machine has, and what pooling does for a program.\n"
       "\n"
       "Commands:");
  for (size_t i = 0; i < COMMANDS; i++)
    printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
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
       "  clpool help tune\n"
       "\n"
       "Exit codes: 0 success; 1 the run failed; 2 wrong use, or a trace that cannot be read.");
}

static int help(const char *name, const char *extra)
{
  const clpi_command *command = name ? find_command(name) : NULL;
  if (extra)
    return clpi_misuse("there is no argument \"%s\" (see clpool --help)", extra);
  if (name && !command)
    return unknown_command(name);
  if (command)
    fputs(command->help, stdout);
  else
    print_help();
  return CLPI_EXIT_SUCCESS;
}

static int run_command(const clpi_command *command, int argc, char **argv)
{
  char name[64];
  if (command != &clpi_record_command && command != &clpi_run_command)
    unsetenv("CLPOOL_TRACE"); /* it is for programs that are run, and may name the trace */
  snprintf(name, sizeof(name), "clpool %s", command->name);
  clpi_set_program_name(name);
  argv[0] = name; /* what is said of wrong options names it */
  int code = clpi_finish_output(command->run(argc, argv));
  clpi_set_program_name("clpool");
  return code;
}

static bool is_one_of(const char *argument, const char *one, const char *other)
{
  return strcmp(argument, one) == 0 || strcmp(argument, other) == 0;
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
  if (is_one_of(first, "--help", "-h") || strcmp(first, "help") == 0)
    return clpi_finish_output(help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL));
  if (is_one_of(first, "--version", "-V")) {
    printf("clpool %s\n", clp_version());
    return clpi_finish_output(CLPI_EXIT_SUCCESS);
  }
  if (first[0] == '-')
    return clpi_misuse("there is no option \"%s\" (see clpool --help)", first);
  const clpi_command *command = find_command(first);
  return command ? run_command(command, argc - 1, argv + 1) : unknown_command(first);
}
