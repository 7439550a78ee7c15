/* SPDX-License-Identifier: MIT */
/* Tuning as one JSON object. */
#include "json.h"
#include "replay_report.h"
#include "tune_report.h"

#include <stdio.h>

static void write_subject(clpi_json *json, const clpi_tune_report *report)
{
  const trace_replay_options *replay = &report->options->replay;
  clpi_json_string(json, "trace", report->trace);
  clpi_json_string(json, "allocator", report->allocator);
  clpi_json_string(json, "device", report->device_name);
  clpi_json_unsigned(json, "capacity", report->capacity);
  clpi_json_unsigned(json, "limit", report->outcomes[0].result.limit_bytes);
  clpi_json_number(json, "scale", replay->scale);
  clpi_json_unsigned(json, "passes", replay->passes ? replay->passes : 1);
  clpi_json_string(json, "costs", report->costs);
  clpi_json_string(json, "objective", trace_objective_name(report->objective));
}

static void write_setting(clpi_json *json, const trace_tune_setting *setting)
{
  clpi_json_bool(json, "pooled", setting->pooled);
  if (setting->pooled && !setting->carves)
    clpi_json_unsigned(json, "leading_bits", setting->leading_bits);
  else
    clpi_json_null(json, "leading_bits");
  clpi_json_bool(json, "arena", setting->on_arena);
  if (setting->on_arena)
    clpi_json_number(json, "slack", setting->slack);
  else
    clpi_json_null(json, "slack");
}

static void write_time(clpi_json *json, const trace_tune_time *time)
{
  clpi_json_begin_object(json, "estimated");
  clpi_json_number(json, "host_ns", time->host);
  clpi_json_number(json, "sub_buffers_ns", time->sub_buffers);
  clpi_json_number(json, "device_ns", time->device);
  clpi_json_number(json, "first_use_ns", time->first_use);
  clpi_json_end_object(json);
}

static void write_outcome(clpi_json *json, const trace_tune_outcome *outcome, bool is_as_good)
{
  clpi_json_begin_object(json, NULL);
  write_setting(json, &outcome->setting);
  clpi_json_number(json, "hit_rate", outcome->hit_rate);
  clpi_json_number(json, "padding", outcome->padding);
  clpi_write_replay_figures(json, &outcome->result);
  write_time(json, &outcome->time);
  clpi_json_bool(json, "as_good", is_as_good);
  clpi_json_end_object(json);
}

static void write_recommendation(clpi_json *json, const clpi_tune_report *report)
{
  clpi_json_string(json, "reason", clpi_tune_reason(report).text);
  clpi_json_string(json, "note", report->note);
  if (report->best == report->candidates) {
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
    write_outcome(&json, &report->outcomes[i], report->as_good[i]);
  clpi_json_end_array(&json);
  write_recommendation(&json, report);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}
