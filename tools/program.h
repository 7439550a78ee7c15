/* SPDX-License-Identifier: MIT */
/* Functions that the commands share: exit codes, errors, and the end of the output. */
#ifndef CLPOOL_TOOLS_PROGRAM_H
#define CLPOOL_TOOLS_PROGRAM_H

#include "trace/reader.h"

#include <clpool/status.h>
#include <stddef.h>
#include <stdio.h>

/* Exit codes. */
enum {
  CLPI_EXIT_SUCCESS = 0,
  CLPI_EXIT_FAILED = 1, /* the run failed: the device, memory, writing the result */
  CLPI_EXIT_MISUSE = 2  /* wrong use, or input that cannot be read */
};

/* The commands, one bit each. */
enum {
  CLPI_INFO = 1 << 0,
  CLPI_RECORD = 1 << 1,
  CLPI_RUN = 1 << 2,
  CLPI_REPLAY = 1 << 3,
  CLPI_TUNE = 1 << 4,
  CLPI_BENCH = 1 << 5,
  CLPI_REPORT = 1 << 6,
  CLPI_CHECK = 1 << 7
};

/* The operands of a command. */
typedef enum clpi_operands {
  CLPI_NO_OPERANDS,
  CLPI_ONE_TRACE,
  CLPI_TRACES,
  CLPI_PROGRAM /* and its arguments; options end before it */
} clpi_operands;

struct clpi_arguments; /* options.h */

typedef struct clpi_command {
  unsigned bit;
  const char *name;
  clpi_operands operands;
  const char *summary; /* one line of `clpool --help` */
  /* For `clpool COMMAND --help`: the first line, what it does, and examples. */
  const char *usage, *about, *examples;
  int (*run)(struct clpi_arguments *arguments); /* returns an exit code */
} clpi_command;

extern const clpi_command clpi_bench_command;
extern const clpi_command clpi_check_command;
extern const clpi_command clpi_info_command;
extern const clpi_command clpi_record_command;
extern const clpi_command clpi_run_command;
extern const clpi_command clpi_replay_command;
extern const clpi_command clpi_report_command;
extern const clpi_command clpi_tune_command;

/* All commands, in the order of `clpool --help`; the last is NULL. */
extern const clpi_command *const clpi_commands[];

const clpi_command *clpi_find_command(const char *name); /* NULL: there is none */

/* Sets the text before each error, such as "clpool replay". Borrowed; it must stay valid. */
void clpi_set_program_name(const char *name);

/* Writes a message of one line to standard error. Returns CLPI_EXIT_FAILED. */
int clpi_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a message, and returns CLPI_EXIT_MISUSE. */
#define clpi_misuse(...) (clpi_complain(__VA_ARGS__), CLPI_EXIT_MISUSE)

/* Makes the library's warnings and errors appear as messages from now on. */
void clpi_show_remarks(void);

/* Writes the library's last error as a message. Returns the exit code for the status. */
int clpi_failed(clp_status status);

/* Closes a written file. Returns errno, of this or an earlier write, or 0. */
int clpi_close(FILE *stream);

/* Flushes standard output. Returns `code`, or CLPI_EXIT_FAILED with a message if something could
 * not be written. */
int clpi_finish_output(int code);

/* --- traces --- */

/* Opens a trace, "-" for standard input. Returns an exit code, with a message if it is not 0. */
int clpi_open_trace(const char *path, bool is_lenient, trace_reader **reader);

/* Writes a line about the rows that were left out of a trace that was read. */
void clpi_tell_left_out(trace_reader *reader);

/* Writes a message: the trace has no allocation to `command`, such as "tune". An exit code. */
int clpi_nothing_to(const char *command, const trace_reader *reader);

#endif
