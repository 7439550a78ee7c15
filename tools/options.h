/* SPDX-License-Identifier: MIT */
/* The options of all commands: one table for reading, help and completion. */
#ifndef CLPOOL_TOOLS_OPTIONS_H
#define CLPOOL_TOOLS_OPTIONS_H

#include "allocators.h"
#include "program.h"
#include "trace/replay.h"

#include <stdbool.h>
#include <stddef.h>

/* The options and operands of a command. Texts are those of argv. */
typedef struct clpi_arguments {
  char **traces;      /* paths, "-" for standard input; for run, record and check */
  size_t trace_count; /* the program and its arguments */
  bool wants_help;    /* the rest does not matter then */
  bool as_json;

  clpi_allocator_choice choice; /* of --allocator and --device; for tune, of the costs */
  unsigned allocators;          /* the kinds that --allocator named, one bit each */

  trace_replay_options replay; /* with a scale of 0 for --scale=auto */
  bool is_lenient;             /* frees of pointers that are not live are left out */
  bool is_bare;                /* --no-pool */
  bool compares;               /* with a pool, then without */
  const char *limit;           /* bytes or per cent; NULL: not given */

  const char *cost;              /* of tune */
  unsigned most_ns;              /* of tune: how much slower than the fastest an operation may be */
  const char *output;            /* the file for the trace, page, plot or costs; NULL: none */
  const char *folded, *perfetto; /* likewise */
  const char *suppressions;      /* of check; NULL: not given */
  unsigned error_exit;           /* of check: the code where errors are found; else 0 */

  bool layer_flag; /* what only a layer reads, which has it in a variable */
  unsigned layer_number;
  const char *layer_size;
} clpi_arguments;

typedef enum clpi_option_kind {
  CLPI_FLAG,
  CLPI_COST,   /* a known machine or a file */
  CLPI_PATH,   /* a file, which the command itself handles */
  CLPI_OUTPUT, /* a file, or "-"; two outputs must differ */
  CLPI_NUMBER,
  CLPI_SIZE, /* bytes; without a `most`, they may be a part of the device's memory */
  CLPI_SCALE,
  CLPI_ARENA, /* a slack may follow */
  CLPI_ALLOCATOR,
  CLPI_DEVICE
} clpi_option_kind;

typedef struct clpi_option {
  const char *name;
  char letter;       /* 0: none */
  const char *value; /* its name in the help; NULL: the option has none */
  unsigned commands; /* bits of clpi_command */
  clpi_option_kind kind;
  size_t field; /* the offset in clpi_arguments */
  const char *help;
  size_t least, most;   /* for a number; the most of a size, 0: any */
  bool needs_pool;      /* it excludes --no-pool */
  const char *variable; /* of a layer: set for programs to the value, a flag to 1 */
} clpi_option;

/* The options; the last one has no name. */
extern const clpi_option clpi_options[];

/* Whether the command's --allocator takes this allocator. */
bool clpi_takes_allocator(const clpi_command *command, clpi_allocator_kind kind);

/* Reads a command line. argv[0] is the command's name in messages, "clpool replay". Returns an exit
 * code, with a message if it is not 0: an unknown option or value, options that exclude each other,
 * missing operands, or too many. */
int clpi_read_arguments(const clpi_command *command, int argc, char **argv,
                        clpi_arguments *arguments);

/* Sets the replay's limit from --limit, if it was given. A percentage is of `device_bytes`; 0:
 * unknown. Returns an exit code, with a message if it is not 0. */
int clpi_set_limit(clpi_arguments *arguments, size_t device_bytes);

/* Writes a command's help to standard output. */
void clpi_print_help(const clpi_command *command);

/* Whether `text`, up to "=", may be a misspelling of a name. */
bool clpi_is_almost(const char *text, const char *name);

/* Prints the possible last words of a command line, one on each line. `words` are those after
 * "clpool", of which the last is to be completed. A line ":files" stands for files. */
void clpi_complete(size_t count, char **words);

#endif
