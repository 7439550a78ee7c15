/* SPDX-License-Identifier: MIT */
/* The data of a report, and the parts of its page. */
#ifndef CLPOOL_TOOLS_REPORT_H
#define CLPOOL_TOOLS_REPORT_H

#include "figures.h"
#include "options.h"
#include "trace/survey.h"

#include <stdio.h>

/* A replay, and its result. */
typedef struct clpi_report {
  const char *trace; /* its path, or "standard input" */
  const clpi_arguments *arguments;
  trace_survey *survey;
} clpi_report;

/* Write the page, and its sections, as HTML that is also well-formed XML. CLP_OUT_OF_HOST_MEMORY.
 */
clp_status clpi_report_write_page(FILE *file, const clpi_report *report);
void clpi_report_write_timeline(FILE *file, const clpi_report *report);
clp_status clpi_report_write_stacks(FILE *file, const clpi_report *report);
void clpi_report_write_tables(FILE *file, const clpi_report *report);
void clpi_report_write_figures(FILE *file, const clpi_report *report);

/* Begins a section of the page; `name` identifies it. */
void clpi_report_begin_section(FILE *file, const char *name, const char *title);

/* Begins a part of the page that may be wider than a phone, and scrolls by finger and key; `label`
 * is for screen readers. End it with </div>. */
void clpi_report_begin_wide(FILE *file, const char *label);

/* Writes the same figures and tables as JSON. */
void clpi_report_write_json(FILE *file, const clpi_report *report);

/* Writes the figures over the trace's time as counters in the Trace Event Format, for
 * ui.perfetto.dev and chrome://tracing. */
void clpi_report_write_perfetto(FILE *file, const clpi_report *report);

/* Writes a text so that neither HTML nor XML finds markup in it, not even in an attribute. Bytes
 * that are not UTF-8, not allowed in XML or not printable become U+FFFD. */
void clpi_write_escaped(FILE *file, const char *text);
void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes);

/* Returns the file name in a path, or in a line of source that begins with a path. */
const char *clpi_base_name(const char *path);

#endif
