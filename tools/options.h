/* SPDX-License-Identifier: MIT */
/* The options of every command: one table, from which they are read, explained and completed. */
#ifndef CLPOOL_TOOLS_OPTIONS_H
#define CLPOOL_TOOLS_OPTIONS_H

#include "allocators.h"
#include "program.h"
#include "trace/replay.h"

#include <stdbool.h>
#include <stddef.h>

/* What the options and operands of a command say. Texts are those of argv. */
typedef struct clpi_arguments {
  char **traces;      /* paths, "-" for standard input; with run and record, */
  size_t trace_count; /* the program and its arguments */
  bool wants_help;    /* then nothing else counts */
  bool as_json;

  clpi_allocator_choice choice; /* of --allocator and --device; with tune, whose costs count */
  unsigned allocators;          /* the kinds that --allocator named, a bit each */

  trace_replay_options replay; /* with a scale of 0 for --scale=auto */
  bool is_lenient;             /* frees of what is not live are left out */
  bool is_bare;                /* --no-pool */
  bool compares;               /* pooled, then bare */
  const char *limit, *hold;    /* bytes or per cent; NULL: not given */

  const char *cost;              /* of tune */
  unsigned most_ns;              /* of tune: an operation's time beyond the quickest's */
  const char *output;            /* where the trace, page, plot or cost file goes; NULL: nowhere */
  const char *folded, *perfetto; /* likewise */
  bool has_stacks, has_report;
} clpi_arguments;

typedef enum clpi_option_kind {
  CLPI_FLAG,
  CLPI_COST,   /* a known machine or a file */
  CLPI_PATH,   /* a file, which the command itself looks after */
  CLPI_OUTPUT, /* a file, or "-"; no two outputs are one */
  CLPI_NUMBER,
  CLPI_SIZE, /* bytes, or a part of the device's memory */
  CLPI_SCALE,
  CLPI_ARENA, /* a slack may follow */
  CLPI_ALLOCATOR,
  CLPI_DEVICE
} clpi_option_kind;

typedef struct clpi_option {
  const char *name;
  char letter;       /* 0: none */
  const char *value; /* what the help calls it; NULL: the option needs none */
  unsigned commands; /* bits of clpi_command */
  clpi_option_kind kind;
  size_t field; /* the offset in clpi_arguments */
  const char *help;
  unsigned least, most; /* of a number */
  bool needs_pool;      /* it cannot go together with --no-pool */
  const char *variable; /* of a layer: programs get it with the value, a flag as 1 */
} clpi_option;

/* Ends with an option without a name. */
extern const clpi_option clpi_options[];

/* Whether the command's --allocator takes this allocator. */
bool clpi_takes_allocator(const clpi_command *command, clpi_allocator_kind kind);

/* Reads a command line. argv[0] is the command as messages call it, "clpool replay". Returns an
 * exit code, with a complaint if it is not 0: an unknown option or value, options that exclude each
 * other, operands that are missing or too many. */
int clpi_read_arguments(const clpi_command *command, int argc, char **argv,
                        clpi_arguments *arguments);

/* Sets the replay's limit from --limit, if it was given. `device_bytes` is what per cent are of, 0:
 * unknown. Returns an exit code, with a complaint if it is not 0. */
int clpi_set_limit(clpi_arguments *arguments, size_t device_bytes);

/* Writes a command's help to standard output. */
void clpi_print_help(const clpi_command *command);

/* Whether `text`, up to "=", may be a misspelling of a name. */
bool clpi_is_almost(const char *text, const char *name);

/* Prints what may stand at the end of a command line, a line each. `words` are those after
 * "clpool", the last of which is what is completed. A line ":files" stands for files. */
void clpi_complete(size_t count, char **words);

#endif
