/* SPDX-License-Identifier: MIT */
/* Tuning as one JSON object. */
#include "json.h"
#include "replay_report.h"
#include "tune_report.h"

#include <stdio.h>

static void write_subject(clpi_json *json, const clpi_tune_report *report)
{
  const clpi_arguments *arguments = report->arguments;
  clpi_json_begin_array(json, "traces");
  for (size_t i = 0; i < arguments->trace_count; i++)
    clpi_json_string(json, NULL, arguments->traces[i]);
  clpi_json_end_array(json);
  clpi_json_unsigned(json, "allocations", report->allocations);
  clpi_json_unsigned(json, "frees", report->frees);
  clpi_json_unsigned(json, "peak_active_bytes", report->peak_active_bytes);
  clpi_json_unsigned(json, "limit", arguments->replay.limit_bytes);
  clpi_json_unsigned(json, "time", arguments->most_ns);
  clpi_json_string(json, "costs", report->costs.text);
}

static void write_setting(clpi_json *json, const trace_tune_setting *setting)
{
  if (setting->any_bits)
    clpi_json_null(json, "leading_bits");
  else
    clpi_json_unsigned(json, "leading_bits", setting->leading_bits);
  clpi_json_bool(json, "arena", setting->on_arena);
  if (setting->on_arena)
    clpi_json_number(json, "slack", setting->slack);
  else
    clpi_json_null(json, "slack");
}

static void write_outcome(clpi_json *json, const clpi_tune_report *report, size_t i)
{
  const trace_tune_outcome *outcome = &report->outcomes[i];
  clpi_json_begin_object(json, NULL);
  write_setting(json, &outcome->setting);
  clpi_json_string(json, "trace", outcome->worst);
  clpi_write_replay_figures(json, &outcome->result);
  clpi_json_number(json, "first_pass_ns_per_operation", outcome->first_ns);
  clpi_json_bool(json, "beaten", trace_tune_is_beaten(report->outcomes, report->count, i));
  clpi_json_end_object(json);
}

static void write_run(clpi_json *json, const trace_tune_outcome *run)
{
  if (!run) {
    clpi_json_null(json, "run");
    return;
  }
  clpi_json_begin_object(json, "run");
  clpi_json_unsigned(json, "leading_bits", run->setting.leading_bits);
  clpi_json_unsigned(json, "peak_device_bytes", run->result.peak_device_bytes);
  clpi_json_end_object(json);
}

static void write_recommendation(clpi_json *json, const clpi_tune_report *report)
{
  clpi_tune_words notes[CLPI_TUNE_NOTES];
  size_t count = clpi_tune_notes(report, notes);
  clpi_json_string(json, "reason", clpi_tune_reason(report).text);
  clpi_json_begin_array(json, "notes");
  for (size_t i = 0; i < count; i++)
    clpi_json_string(json, NULL, notes[i].text);
  clpi_json_end_array(json);
  write_run(json, report->run);
  if (report->best == report->count) {
    clpi_json_null(json, "recommended");
    return;
  }
  const trace_tune_setting *setting = &report->outcomes[report->best].setting;
  clpi_json_begin_object(json, "recommended");
  write_setting(json, setting);
  clpi_json_string(json, "code", clpi_tune_code(setting).text);
  clpi_json_string(json, "python", clpi_tune_python(setting).text);
  clpi_json_string(json, "environment", clpi_tune_environment(setting).text);
  clpi_json_end_object(json);
}

void clpi_tune_report_json(const clpi_tune_report *report)
{
  clpi_json json = clpi_json_start(stdout);
  clpi_json_begin_object(&json, NULL);
  write_subject(&json, report);
  clpi_json_begin_array(&json, "settings");
  for (size_t i = 0; i < report->count; i++)
    write_outcome(&json, report, i);
  clpi_json_end_array(&json);
  write_recommendation(&json, report);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}
