/* SPDX-License-Identifier: MIT */
/* What a report tells, and the parts of its page. */
#ifndef CLPOOL_TOOLS_REPORT_H
#define CLPOOL_TOOLS_REPORT_H

#include "figures.h"
#include "options.h"
#include "quantities.h"
#include "trace/survey.h"

#include <stdio.h>

/* A replay, and what came of it. */
typedef struct clpi_report {
  const char *trace; /* its path, or "standard input" */
  const clpi_arguments *arguments;
  const trace_survey *survey;
} clpi_report;

/* The page, and its sections: each writes HTML that is well-formed XML as well.
 * CLP_OUT_OF_HOST_MEMORY.
 */
clp_status clpi_report_write_page(FILE *file, const clpi_report *report);
void clpi_report_write_timeline(FILE *file, const clpi_report *report);
clp_status clpi_report_write_stacks(FILE *file, const clpi_report *report);
void clpi_report_write_pools(FILE *file, const clpi_report *report);
void clpi_report_write_kinds(FILE *file, const clpi_report *report);
void clpi_report_write_bins(FILE *file, const clpi_report *report);
void clpi_report_write_largest(FILE *file, const clpi_report *report);

/* Begins a section of the page, which is known by `name`. */
void clpi_report_begin_section(FILE *file, const char *name, const char *title);

/* A part of the page that may be wider than a phone, and scrolls by finger and key; `label` is for
 * those who do not see it. */
void clpi_report_begin_wide(FILE *file, const char *label);
void clpi_report_end_wide(FILE *file);

/* The figures, as JSON. */
void clpi_report_write_json(FILE *file, const clpi_report *report);

/* The figures over the trace's time as counters in the Trace Event Format, which ui.perfetto.dev
 * and chrome://tracing open. */
void clpi_report_write_perfetto(FILE *file, const clpi_report *report);

/* How many lines of a stack are shown where it is not the subject. */
enum { CLPI_REPORT_LINES = 4 };

/* --- figures, one list for the page and for JSON --- */

enum { CLPI_FIGURES = 24 };

void clpi_report_figures(const clpi_report *report, clpi_figure figures[CLPI_FIGURES]);

/* --- how the page writes names, counts, times and parts --- */

/* Writes a text so that neither HTML nor XML finds markup in it, also in an attribute. What is no
 * UTF-8, no XML or does not print becomes U+FFFD. */
void clpi_write_escaped(FILE *file, const char *text);
void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes);

/* What follows the directories in a path, or in the path that a line of source begins with. */
const char *clpi_base_name(const char *path);

clpi_shown clpi_show_grouped(uint64_t count);             /* "17,321" */
clpi_shown clpi_show_elapsed(uint64_t nanoseconds);       /* "412 ms", "1.34 s", "12 min 5 s" */
clpi_shown clpi_show_part(uint64_t part, uint64_t whole); /* "85.7 %", 100 % only for all */

/* "1 event", "17,321 events" */
clpi_shown clpi_show_number_of(uint64_t count, const char *noun);

#endif
