/* SPDX-License-Identifier: MIT */
/* What the commands of the program share: exit codes, errors, and the end of the output. */
#ifndef CLPOOL_TOOLS_PROGRAM_H
#define CLPOOL_TOOLS_PROGRAM_H

#include <clpool/status.h>
#include <stdio.h>

/* Exit codes. */
enum {
  CLPI_EXIT_SUCCESS = 0,
  CLPI_EXIT_FAILED = 1, /* the run failed: the device, memory, writing the result */
  CLPI_EXIT_MISUSE = 2  /* wrong use, or input that cannot be read */
};

/* One command, such as "replay". */
typedef struct clpi_command {
  const char *name;
  const char *summary; /* one line of `clpool --help` */
  const char *help;    /* the whole of `clpool COMMAND --help` */
  /* argv[0] is what stands before the command's errors; returns an exit code. */
  int (*run)(int argc, char **argv);
} clpi_command;

extern const clpi_command clpi_bench_command;
extern const clpi_command clpi_info_command;
extern const clpi_command clpi_record_command;
extern const clpi_command clpi_run_command;
extern const clpi_command clpi_replay_command;
extern const clpi_command clpi_report_command;
extern const clpi_command clpi_tune_command;

/* What stands before each error from now on, such as "clpool replay". Borrowed for ever. */
void clpi_set_program_name(const char *name);

/* Writes one line to standard error, whatever the arguments contain. */
void clpi_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains and returns CLPI_EXIT_MISUSE. */
int clpi_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains with the library's last error; returns the exit code for the status. */
int clpi_failed(clp_status status);

/* Closes what was written to. Returns errno, of this or of an earlier write, or 0. */
int clpi_close(FILE *stream);

/* Flushes standard output. `code`, or CLPI_EXIT_FAILED with a complaint if something could not be
 * written. */
int clpi_finish_output(int code);

#endif
