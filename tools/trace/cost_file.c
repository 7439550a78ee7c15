/* SPDX-License-Identifier: MIT */
/* Cost files: read strictly, line by line, and written. */
#include "trace/costs.h"

#include "trace/error.h"
#include "trace/event.h"
#include "trace/lines.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "Allocator,Operation,Bytes,Nanoseconds";
static const char DEVICE[] = "# device: ";

typedef enum cost_field { ALLOCATOR, OPERATION, BYTES, NANOSECONDS, COST_FIELDS } cost_field;

static const char *const field_names[COST_FIELDS] = {"Allocator", "Operation", "Bytes",
                                                     "Nanoseconds"};

/* A row as it is read. */
typedef struct cost_row {
  char allocator[TRACE_COST_NAME_BYTES];
  trace_cost_operation operation;
  size_t bytes;
  double nanoseconds;
  size_t columns[COST_FIELDS]; /* where each field begins, from 1 */
} cost_row;

/* A file as far as it was read. */
typedef struct cost_reading {
  const char *name;
  trace_costs *costs;
  uint64_t lines;
  bool began; /* the header was read */
} cost_reading;

/* --- Fields: each function reads one, and returns NULL, or what was expected
 * ----------------------
 */

static const char *parse_allocator(const char *text, size_t length, cost_row *row)
{
  bool is_name = length > 0 && length < sizeof(row->allocator);
  for (size_t i = 0; is_name && i < length; i++)
    is_name = isalnum((unsigned char)text[i]) || text[i] == '-';
  if (!is_name)
    return "an allocator's name, at most 31 letters, digits and hyphens";
  memcpy(row->allocator, text, length);
  row->allocator[length] = '\0';
  return NULL;
}

static const char *parse_operation(const char *text, size_t length, cost_row *row)
{
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS; i++) {
    const char *name = trace_cost_operation_name(i);
    if (length != strlen(name) || memcmp(text, name, length) != 0)
      continue;
    row->operation = i;
    return NULL;
  }
  return "allocate, free, sub-buffer, fill-fresh, fill-reused, pool-pair or arena-pair";
}

static const char *parse_bytes(const char *text, size_t length, cost_row *row)
{
  static const char expected[] = "a size in bytes, a decimal number from 1 to 18446744073709551615";
  uint64_t bytes;
  if (!trace_read_number(text, length, 10, &bytes) || bytes == 0 || bytes > SIZE_MAX)
    return expected;
  row->bytes = (size_t)bytes;
  return NULL;
}

static const double MOST_NANOSECONDS = 1e18; /* sums of products with any sizes are finite */

/* What strtod reads beyond decimal numbers is kept from it. */
static const char *parse_nanoseconds(const char *text, size_t length, cost_row *row)
{
  static const char expected[] =
      "a time in nanoseconds, a decimal number such as 1250.5, at most 1e18";
  char number[64], *end;
  if (length == 0 || length >= sizeof(number) || !isdigit((unsigned char)text[0]))
    return expected;
  memcpy(number, text, length);
  number[length] = '\0';
  if (strspn(number, "0123456789.eE+-") != length)
    return expected;
  row->nanoseconds = strtod(number, &end);
  return *end == '\0' && row->nanoseconds <= MOST_NANOSECONDS ? NULL : expected;
}

static const char *(*const parsers[COST_FIELDS])(const char *text, size_t length, cost_row *row) = {
    parse_allocator, parse_operation, parse_bytes, parse_nanoseconds};

/* --- Lines --- */

static clp_status parse_row(const cost_reading *reading, const trace_line *line, cost_row *row)
{
  const char *text = line->text, *end = line->text + line->length;
  for (cost_field field = 0; field < COST_FIELDS; field++) {
    if (field > 0 && text == end)
      return trace_error_at(reading->name, line->number, line->length + 1,
                            "expected a comma and the field %s, found the end of the line",
                            field_names[field]);
    if (field > 0)
      text++; /* the comma where the field before ended */
    const char *comma = memchr(text, ',', (size_t)(end - text));
    size_t length = (size_t)((comma ? comma : end) - text);
    row->columns[field] = (size_t)(text - line->text) + 1;
    const char *expected = parsers[field](text, length, row);
    if (expected)
      return trace_error_at(reading->name, line->number, row->columns[field],
                            "expected %s, found %s", expected,
                            trace_show_found(text, length, false).text);
    text += length;
  }
  if (text != end)
    return trace_error_at(reading->name, line->number, (size_t)(text - line->text) + 1,
                          "expected the end of the line, found %s",
                          trace_show_found(text, (size_t)(end - text), false).text);
  return CLP_SUCCESS;
}

/* Tells why a figure could not be added. */
static clp_status reject_figure(const cost_reading *reading, uint64_t line, const cost_row *row)
{
  const trace_cost_table *table = trace_costs_find(reading->costs, row->allocator);
  if (!table)
    return trace_error_at(reading->name, line, row->columns[ALLOCATOR],
                          "expected at most %d allocators, found one more, \"%s\"",
                          TRACE_COST_TABLES, row->allocator);
  const trace_cost_curve *curve = &table->curves[row->operation];
  for (size_t i = 0; i < curve->count; i++)
    if (curve->points[i].bytes == row->bytes)
      return trace_error_at(reading->name, line, row->columns[BYTES],
                            "expected each size once, found %zu bytes a second time", row->bytes);
  return trace_error_at(reading->name, line, row->columns[BYTES],
                        "expected at most %d sizes, found one more", TRACE_COST_POINTS);
}

static clp_status read_row(const cost_reading *reading, const trace_line *line)
{
  cost_row row;
  clp_status status = parse_row(reading, line, &row);
  if (status)
    return status;
  bool is_added =
      trace_costs_add(reading->costs, row.allocator, row.operation, row.bytes, row.nanoseconds);
  return is_added ? CLP_SUCCESS : reject_figure(reading, line->number, &row);
}

static clp_status read_header(cost_reading *reading, const trace_line *line)
{
  reading->began = line->length == strlen(HEADER) && memcmp(line->text, HEADER, line->length) == 0;
  if (reading->began)
    return CLP_SUCCESS;
  return trace_error_at(reading->name, line->number, 1, "expected the header %s, found %s", HEADER,
                        trace_show_found(line->text, line->length, line->cut).text);
}

/* The first that names the device counts. */
static void read_remark(trace_costs *costs, const trace_line *line)
{
  size_t prefix = strlen(DEVICE);
  if (*costs->device || line->length < prefix || memcmp(line->text, DEVICE, prefix) != 0)
    return;
  size_t length = line->length - prefix;
  if (length >= sizeof(costs->device))
    length = sizeof(costs->device) - 1;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)line->text[prefix + i];
    costs->device[i] = (char)(byte < ' ' || byte == 0x7f ? '?' : byte);
  }
  costs->device[length] = '\0';
}

static clp_status read_line(cost_reading *reading, const trace_line *line)
{
  reading->lines = line->number;
  if (!reading->began && line->cut)
    return read_header(reading, line);
  if (line->cut)
    return trace_error_at(reading->name, line->number, line->length + 1,
                          "expected a line of at most %d bytes, none of them zero", TRACE_LINE_MAX);
  if (line->length > 0 && line->text[0] == '#') {
    read_remark(reading->costs, line);
    return CLP_SUCCESS;
  }
  return reading->began ? read_row(reading, line) : read_header(reading, line);
}

static clp_status check_end(const cost_reading *reading)
{
  if (!reading->began)
    return trace_error_at(reading->name, reading->lines + 1, 1,
                          "expected the header %s, found the end of the file", HEADER);
  if (reading->costs->count == 0)
    return trace_error_at(reading->name, reading->lines + 1, 1,
                          "expected a figure, found the end of the file");
  return CLP_SUCCESS;
}

/* Nothing is left of what could not be read whole. */
static clp_status end_reading(const cost_reading *reading, clp_status status)
{
  if (!status)
    status = check_end(reading);
  if (status)
    *reading->costs = (trace_costs){0};
  return status;
}

/* --- Files --- */

clp_status trace_costs_read(const char *path, trace_costs *costs)
{
  trace_lines lines;
  trace_line line;
  bool found = true;
  *costs = (trace_costs){0};
  clp_status status = trace_lines_open(path, &lines);
  if (status)
    return status;
  cost_reading reading = {.name = lines.name, .costs = costs};
  while (!status && found) {
    status = trace_lines_next(&lines, &line, &found);
    if (!status && found)
      status = read_line(&reading, &line);
  }
  status = end_reading(&reading, status);
  trace_lines_close(&lines);
  return status;
}

/* The line that begins at `text`, which is not at its end yet; `*next` is where the one after it
 * begins. */
static trace_line take_line(const char *text, const char *end, uint64_t number, const char **next)
{
  const char *line_end = memchr(text, '\n', (size_t)(end - text));
  trace_line line = {.text = (char *)text, /* which is not written to */
                     .length = (size_t)((line_end ? line_end : end) - text),
                     .number = number};
  *next = line_end ? line_end + 1 : end;
  line.cut = line.length > TRACE_LINE_MAX;
  if (line.cut)
    line.length = TRACE_LINE_MAX;
  else if (line.length > 0 && line.text[line.length - 1] == '\r')
    line.length--;
  return line;
}

clp_status trace_costs_parse(const char *name, const char *text, size_t length, trace_costs *costs)
{
  cost_reading reading = {.name = name, .costs = costs};
  const char *end = text + length;
  clp_status status = CLP_SUCCESS;
  *costs = (trace_costs){0};
  while (!status && text < end) {
    trace_line line = take_line(text, end, reading.lines + 1, &text);
    status = read_line(&reading, &line);
  }
  return end_reading(&reading, status);
}

static bool reads_as(const char *text, double number)
{
  double value = strtod(text, NULL);
  return !(value < number) && !(value > number);
}

/* With as many digits as it takes to read the same number; an exponent only where that is shorter
 * by far. */
static void write_number(double number, FILE *file)
{
  enum { MOST_DECIMALS = 9, MOST_DIGITS = 17 };
  static const double usual = 1e15; /* any time below has no more decimals than count */
  char text[32] = "";
  for (int decimals = 0; number < usual && decimals <= MOST_DECIMALS; decimals++) {
    snprintf(text, sizeof(text), "%.*f", decimals, number);
    if (reads_as(text, number))
      break;
  }
  for (int digits = 1; !reads_as(text, number) && digits <= MOST_DIGITS; digits++)
    snprintf(text, sizeof(text), "%.*g", digits, number);
  fputs(text, file);
}

static void write_device(const char *device, FILE *file)
{
  fputs(DEVICE, file);
  for (; *device; device++)
    putc(iscntrl((unsigned char)*device) ? ' ' : *device, file);
  putc('\n', file);
}

static void write_curve(const trace_cost_table *table, trace_cost_operation operation, FILE *file)
{
  const trace_cost_curve *curve = &table->curves[operation];
  for (size_t i = 0; i < curve->count; i++) {
    fprintf(file, "%s,%s,%zu,", table->allocator, trace_cost_operation_name(operation),
            curve->points[i].bytes);
    write_number(curve->points[i].nanoseconds, file);
    putc('\n', file);
  }
}

void trace_costs_write(const trace_costs *costs, FILE *file)
{
  if (*costs->device)
    write_device(costs->device, file);
  fprintf(file, "%s\n", HEADER);
  for (size_t i = 0; i < costs->count; i++)
    for (trace_cost_operation operation = 0; operation < TRACE_COST_OPERATIONS; operation++)
      write_curve(&costs->tables[i], operation, file);
}
