/* SPDX-License-Identifier: MIT */
/* The bytes of a file, plain or gzipped, from its begin to its end, and once more where it can be
 * read twice. */
#ifndef CLPOOL_TRACE_INPUT_H
#define CLPOOL_TRACE_INPUT_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is being read. */
typedef struct trace_input trace_input;

/* Opens the file at `path`, "-" for standard input.
 * CLP_IO_ERROR: it cannot be opened, or is a directory. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_input_open(const char *path, trace_input **out);

/* Reads from `descriptor`, which is closed with the object, and at once if that cannot be made;
 * `name` is for messages. */
clp_status trace_input_open_descriptor(int descriptor, const char *name, trace_input **out);

/* NULL is a no-op. */
void trace_input_close(trace_input *input);

/* Reads up to `room` bytes, at least one unless the file is at its end, where `*bytes` is 0. `line`
 * and `column` are where the first of them stands, for messages.
 * CLP_IO_ERROR: the file cannot be read on, or its compressed text is damaged or ends too early.
 * CLP_OUT_OF_HOST_MEMORY: zlib has none. */
clp_status trace_input_read(trace_input *input, void *buffer, size_t room, uint64_t line,
                            size_t column, size_t *bytes);

/* Goes back to the first byte. CLP_IO_ERROR where trace_input_can_rewind says false. */
clp_status trace_input_rewind(trace_input *input);

/* Whether the file can be read twice: a pipe or a terminal cannot. */
bool trace_input_can_rewind(const trace_input *input);

/* How far reading is, in bytes of the file as stored; `*total` is 0 where that is unknown. */
void trace_input_progress(const trace_input *input, uint64_t *done, uint64_t *total);

/* What messages call the file: its path, only the end of a very long one. */
const char *trace_input_name(const trace_input *input);

#endif
