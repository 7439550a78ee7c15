/* SPDX-License-Identifier: MIT */
/* What a report tells, and the parts of its page. */
#ifndef CLPOOL_TOOLS_REPORT_H
#define CLPOOL_TOOLS_REPORT_H

#include "figures.h"
#include "options.h"
#include "trace/survey.h"

#include <stdio.h>

/* A replay, and what came of it. */
typedef struct clpi_report {
  const char *trace; /* its path, or "standard input" */
  const clpi_arguments *arguments;
  trace_survey *survey;
} clpi_report;

/* The page, and its sections: each writes HTML that is well-formed XML as well.
 * CLP_OUT_OF_HOST_MEMORY.
 */
clp_status clpi_report_write_page(FILE *file, const clpi_report *report);
void clpi_report_write_timeline(FILE *file, const clpi_report *report);
clp_status clpi_report_write_stacks(FILE *file, const clpi_report *report);
void clpi_report_write_tables(FILE *file, const clpi_report *report);
void clpi_report_write_figures(FILE *file, const clpi_report *report);

/* Begins a section of the page, which is known by `name`. */
void clpi_report_begin_section(FILE *file, const char *name, const char *title);

/* Begins a part of the page that may be wider than a phone, and scrolls by finger and key; `label`
 * is for those who do not see it. It ends with </div>. */
void clpi_report_begin_wide(FILE *file, const char *label);

/* The same figures and tables as JSON. */
void clpi_report_write_json(FILE *file, const clpi_report *report);

/* The figures over the trace's time as counters in the Trace Event Format, which ui.perfetto.dev
 * and chrome://tracing open. */
void clpi_report_write_perfetto(FILE *file, const clpi_report *report);

/* Writes a text so that neither HTML nor XML finds markup in it, also in an attribute. What is no
 * UTF-8, no XML or does not print becomes U+FFFD. */
void clpi_write_escaped(FILE *file, const char *text);
void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes);

/* What follows the directories in a path, or in the path that a line of source begins with. */
const char *clpi_base_name(const char *path);

#endif
