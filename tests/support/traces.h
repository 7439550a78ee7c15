/* SPDX-License-Identifier: MIT */
/* Traces for tests: files that exist in memory alone, and rows in short form. */
#ifndef CLPT_TRACES_H
#define CLPT_TRACES_H

#include "suite.h"
#include "trace/reader.h"

#include <stddef.h>

#define CLPT_HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

/** A descriptor of a file that holds these bytes, at its begin. */
int clpt_file_of(const void *bytes, size_t length);

/** The same for a text. */
int clpt_text_file(const char *text);

/** `text` as a gzip file of one member, an array for free(). */
unsigned char *clpt_gzip(const char *text, size_t *length);

/** A reader of a file with that text, RMM's log, named "trace". */
trace_reader *clpt_trace(const char *text);

/** A trace from its short form, rows separated by blanks, `times` times over: "a10=256" allocates
 * 256 bytes at 0x10, "f10=256" frees them, "x0=256" is an allocate failure. The text is for free().
 */
char *clpt_trace_text(const char *rows, unsigned times);

/** A reader of such a trace, or of a text that begins with a header, named "trace". */
trace_reader *clpt_short_trace(const char *rows);

/** A reader of the trace that the tree has, of a training of resnet50. */
trace_reader *clpt_resnet_trace(void);

#endif
