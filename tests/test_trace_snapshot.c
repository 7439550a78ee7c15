/* SPDX-License-Identifier: MIT */
/* PyTorch's memory snapshots: which rows come of them, and what is refused, at which place. */
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/json.h"
#include "trace/reader.h"

#include <inttypes.h>
#include <stdio.h>

enum { ROWS_BYTES = 4096 };

#define ALLOC(address, size) "{\"action\":\"alloc\",\"addr\":" #address ",\"size\":" #size "}"
#define FREE(address)        "{\"action\":\"free_requested\",\"addr\":" #address ",\"size\":1}"
#define OOM(size)            "{\"action\":\"oom\",\"device_free\":9,\"size\":" #size "}"
#define TRACE(events)        "{\"device_traces\":[[" events "]]}"

static clpi_trace_reader *snapshot(const char *text)
{
  return clpt_trace_of(clpt_text_file(text), "trace", CLPI_TRACE_PYTORCH_SNAPSHOT);
}

/* The rest of the rows in the short form of clpt_trace_text, a blank after each. */
static clp_status rest_of_rows(clpi_trace_reader *reader, char rows[ROWS_BYTES])
{
  static const char letters[] = {
      [CLPI_TRACE_ALLOCATE] = 'a', [CLPI_TRACE_ALLOCATE_FAILURE] = 'x', [CLPI_TRACE_FREE] = 'f'};
  clpi_trace_event event;
  bool found = true;
  size_t length = 0;
  clp_status status;
  rows[0] = '\0';
  while (!(status = clpi_trace_next(reader, &event, &found)) && found) {
    ck_assert_uint_lt(length, ROWS_BYTES - 64);
    length += (size_t)sprintf(rows + length, "%c%" PRIx64 "=%" PRIu64 " ", letters[event.action],
                              event.pointer, event.size);
  }
  return status;
}

static void assert_rows(const char *text, const char *expected)
{
  char rows[ROWS_BYTES];
  clpi_trace_reader *reader = snapshot(text);
  clpt_ok(rest_of_rows(reader, rows));
  ck_assert_str_eq(rows, expected);
  clpi_trace_close(reader);
}

/* As json.dump(torch.cuda.memory._snapshot(), file) writes it, cut down. */
static const char typical[] =
    "{\"segments\": [{\"device\": 0, \"address\": 139637976727552, \"total_size\": 2097152, "
    "\"allocated_size\": 512, \"active_size\": 512, \"requested_size\": 500, \"stream\": 0, "
    "\"segment_type\": \"small\", \"segment_pool_id\": [0, 0], \"is_expandable\": false, "
    "\"frames\": [], \"blocks\": [{\"address\": 139637976727552, \"size\": 512, "
    "\"requested_size\": 500, \"state\": \"active_allocated\", \"frames\": [{\"name\": \"step\", "
    "\"filename\": \"train.py\", \"line\": 12}]}]}], \"device_traces\": [["
    "{\"action\": \"segment_alloc\", \"addr\": 139637976727552, \"size\": 2097152, \"stream\": 0, "
    "\"time_us\": 1700000000000001, \"compile_context\": \"N/A\", \"user_metadata\": \"\", "
    "\"frames\": [{\"name\": \"<module>\", \"filename\": \"a \\\"b\\\".py\", \"line\": 1}]}, "
    "{\"action\": \"alloc\", \"addr\": 139637976727552, \"size\": 500, \"stream\": 0, "
    "\"time_us\": 1700000000000002, \"frames\": [{\"action\": \"oom\", \"size\": 3}]}, "
    "{\"action\": \"alloc\", \"addr\": 139637976728064, \"size\": 7, \"stream\": 94001, "
    "\"time_us\": 1700000000000003, \"frames\": []}, "
    "{\"action\": \"free_requested\", \"addr\": 139637976728064, \"size\": 512, \"stream\": 94001, "
    "\"time_us\": 1700000000000004, \"frames\": []}, "
    "{\"action\": \"free_completed\", \"addr\": 139637976728064, \"size\": 512, \"stream\": 94001, "
    "\"time_us\": 1700000000000005, \"frames\": []}, "
    "{\"action\": \"oom\", \"device_free\": 1048576, \"size\": 1073741824, \"stream\": 0, "
    "\"time_us\": 1700000000000006, \"frames\": []}, "
    "{\"action\": \"snapshot\", \"addr\": 0, \"size\": 512, \"stream\": 0, "
    "\"time_us\": 1700000000000007}]], "
    "\"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"\", \"max_split_size\": -1, "
    "\"garbage_collection_threshold\": 0.0}, \"external_annotations\": []}";
static const char rows_of_typical[] =
    "a7f0000000000=500 a7f0000000200=7 f7f0000000200=7 x0=1073741824 ";

START_TEST(a_typical_one)
{
  clpi_trace_reader *reader = snapshot(typical);
  clpi_trace_event event;
  bool found;
  ck_assert_str_eq(clpi_trace_name(reader), "trace");
  clpt_ok(clpi_trace_next(reader, &event, &found));
  ck_assert(found);
  ck_assert_int_eq(event.action, CLPI_TRACE_ALLOCATE);
  ck_assert_uint_eq(event.pointer, 139637976727552);
  ck_assert_uint_eq(event.size, 500);
  ck_assert_uint_eq(event.stream, 0);
  ck_assert_uint_eq(event.thread, 0);
  /* 22:13:20, UTC */
  ck_assert_uint_eq(event.nanoseconds, UINT64_C(80000) * 1000000000 + 2000);
  clpt_ok(clpi_trace_next(reader, &event, &found));
  ck_assert_uint_eq(event.stream, 94001);
  clpi_trace_close(reader);
  assert_rows(typical, rows_of_typical);
}
END_TEST

START_TEST(twice_and_gzipped)
{
  char rows[ROWS_BYTES];
  size_t length;
  uint64_t done, total;
  unsigned char *bytes = clpt_gzip(typical, &length);
  clpi_trace_reader *reader =
      clpt_trace_of(clpt_file_of(bytes, length), "trace", CLPI_TRACE_PYTORCH_SNAPSHOT);
  ck_assert(clpi_trace_can_rewind(reader));
  for (int i = 0; i < 2; i++) {
    clpt_ok(rest_of_rows(reader, rows));
    ck_assert_str_eq(rows, rows_of_typical);
    clpi_trace_progress(reader, &done, &total);
    ck_assert_uint_eq(total, length);
    ck_assert_uint_eq(done, total);
    clpt_ok(clpi_trace_rewind(reader));
  }
  clpi_trace_close(reader);
  free(bytes);
}
END_TEST

/* A rewind in the middle forgets what is live, and where the file was. */
START_TEST(rewind_from_the_middle)
{
  char rows[ROWS_BYTES];
  clpi_trace_event event;
  bool found;
  clpi_trace_reader *reader = snapshot(typical);
  clpt_ok(clpi_trace_next(reader, &event, &found));
  clpt_ok(clpi_trace_rewind(reader));
  clpt_ok(rest_of_rows(reader, rows));
  ck_assert_str_eq(rows, rows_of_typical);
  clpi_trace_close(reader);
}
END_TEST

START_TEST(shapes)
{
  assert_rows("\n{ \"device_traces\" : [ [ ] ,\n[ " ALLOC(16, 1) " ] ] }\n", "a10=1 ");
  assert_rows("{\"device_traces\":[[" ALLOC(16, 1) "]],\"x\":{\"device_traces\":3}}", "a10=1 ");
  assert_rows("{\"x\":[{\"device_traces\":3}],\"device_traces\":[[" ALLOC(16, 1) "]]}", "a10=1 ");
  /* Members in any order, escaped, unknown; a later one of the same name counts. */
  assert_rows(TRACE("{\"size\":5,\"frames\":[{\"size\":\"?\"}],\"addr\":16,\"\\u0061ction\":"
                    "\"all\\u006fc\",\"more\":{\"addr\":null},\"size\":6}"),
              "a10=6 ");
  assert_rows(TRACE(ALLOC(18446744073709551615, 18446744073709551615)),
              "affffffffffffffff=18446744073709551615 ");
  assert_rows(TRACE(ALLOC(0, 0) "," FREE(0)), "a0=0 f0=0 ");
}
END_TEST

START_TEST(actions_of_pytorchs_own_pool)
{
  static const char *const others[] = {
      "segment_alloc", "segment_free", "segment_map", "segment_unmap",
      "snapshot",      "annotate",     "later",       "",
      "Alloc",         "alloc2",
  };
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    char text[512];
    snprintf(text, sizeof(text),
             TRACE(ALLOC(16, 1) ",{\"action\":\"%s\",\"addr\":16,\"size\":1},{\"action\":\"%s\"},"
                                "{\"action\":\"snapshot\"}," FREE(16)),
             others[i], others[i]);
    assert_rows(text, "a10=1 f10=1 ");
  }
}
END_TEST

/* The begin is lost where PyTorch's ring was full: its frees are of unknown blocks. */
START_TEST(ring_that_has_lost_its_begin)
{
  assert_rows(TRACE(FREE(16) "," FREE(32) "," ALLOC(16, 3) "," FREE(16) "," FREE(16)),
              "a10=3 f10=3 ");
  assert_rows(TRACE(FREE(16)), "");
}
END_TEST

/* Recording paused: a block was freed unseen. */
START_TEST(free_that_is_missing)
{
  assert_rows(TRACE(ALLOC(16, 3) "," ALLOC(16, 4) "," FREE(16)), "a10=3 f10=3 a10=4 f10=4 ");
}
END_TEST

START_TEST(times)
{
  static const char text[] =
      TRACE("{\"action\":\"oom\",\"size\":1},"
            "{\"action\":\"oom\",\"size\":1,\"time_us\":86400000007},"
            "{\"action\":\"oom\",\"size\":1},"
            "{\"action\":\"oom\",\"size\":1,\"time_us\":18446744073709551615}");
  static const uint64_t expected[] = {0, 7000, 7000, UINT64_MAX % 86400000000 * 1000};
  clpi_trace_reader *reader = snapshot(text);
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
    clpi_trace_event event;
    bool found;
    clpt_ok(clpi_trace_next(reader, &event, &found));
    ck_assert_uint_eq(event.nanoseconds, expected[i]);
  }
  clpi_trace_close(reader);
}
END_TEST

/* --- devices --- */

static const char two_devices[] =
    "{\"device_traces\":[[],[" ALLOC(16, 1) "],\n [{\"action\":"
                                            "\"snapshot\"}," ALLOC(16, 2) "," FREE(16) "],[]]}";

START_TEST(device_that_is_chosen)
{
  static const struct {
    unsigned device;
    const char *rows;
  } cases[] = {{1, "a10=1 "}, {2, "a10=2 f10=2 "}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char rows[ROWS_BYTES];
    clpi_trace_reader *reader = snapshot(two_devices);
    clpt_ok(clpi_trace_choose_device(reader, cases[i].device));
    for (int pass = 0; pass < 2; pass++) {
      clpt_ok(rest_of_rows(reader, rows));
      ck_assert_str_eq(rows, cases[i].rows);
      clpt_ok(clpi_trace_rewind(reader));
    }
    clpi_trace_close(reader);
  }
}
END_TEST

START_TEST(several_devices_need_a_choice)
{
  char rows[ROWS_BYTES];
  clpi_trace_reader *reader = snapshot(two_devices);
  clpt_fails(CLP_INVALID_ARGUMENT, rest_of_rows(reader, rows));
  ck_assert_str_eq(clp_last_error()->message,
                   "trace:2:25: expected events of one device, found some of device 1 and some of "
                   "device 2: choose with --trace-device");
  clpi_trace_close(reader);
}
END_TEST

START_TEST(devices_that_are_not_there)
{
  static const struct {
    const char *text;
    unsigned device;
    const char *message;
  } cases[] = {
      {two_devices, 0, "trace:1:18: expected allocations of device 0, found none"},
      {two_devices, 4, "trace:1:18: expected events of device 4, found 4 devices"},
      {TRACE(""), 1, "trace:1:18: expected events of device 1, found 1 device"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char rows[ROWS_BYTES];
    clpi_trace_reader *reader = snapshot(cases[i].text);
    clpt_ok(clpi_trace_choose_device(reader, cases[i].device));
    clpt_fails(CLP_INVALID_ARGUMENT, rest_of_rows(reader, rows));
    ck_assert_str_eq(clp_last_error()->message, cases[i].message);
    clpi_trace_close(reader);
  }
}
END_TEST

START_TEST(rmms_log_has_no_devices)
{
  clpi_trace_reader *reader = clpt_trace(CLPT_HEADER);
  clpt_fails(CLP_NOT_SUPPORTED, clpi_trace_choose_device(reader, 0));
  clpi_trace_close(reader);
}
END_TEST

/* --- what is refused --- */

static const struct malformed {
  const char *text;
  const char *message; /* behind "trace:" */
} malformed[] = {
    {"", "1:1: expected JSON, found an empty file"},
    {"[]", "1:1: expected a snapshot, an object, found a list"},
    {" 7", "1:2: expected a snapshot, an object, found \"7\""},
    {" {}", "1:2: expected a snapshot with the member \"device_traces\", found one without"},
    {"{\"segments\":[],\"x\":[\"device_traces\"]}",
     "1:1: expected a snapshot with the member \"device_traces\", found one without"},
    {"{\"device_traces\":{}}", "1:18: expected a list of the devices' events, found an object"},
    {"{\"device_traces\":null}", "1:18: expected a list of the devices' events, found null"},
    {"{\"device_traces\":[],\"device_traces\":[]}",
     "1:37: expected one member \"device_traces\", found another"},
    {"{\"device_traces\":[]}", "1:18: expected allocations, found none: recording begins with "
                               "torch.cuda.memory._record_memory_history()"},
    {TRACE("{\"action\":\"snapshot\"}"),
     "1:18: expected allocations, found none: recording begins with "
     "torch.cuda.memory._record_memory_history()"},
    {"{\"device_traces\":[true]}",
     "1:19: expected a list of one device's events, found true or false"},
    {TRACE("[]"), "1:20: expected an event, an object, found a list"},
    {TRACE("\"alloc\""), "1:20: expected an event, an object, found \"alloc\""},
    {TRACE("{\"action\":7}"), "1:30: expected an action, a string, found \"7\""},
    {TRACE("{\"action\":[]}"), "1:30: expected an action, a string, found a list"},
    /* Numbers. */
    {TRACE("{\"addr\":\"16\"}"),
     "1:28: expected an address, a whole number below 2^64, found \"16\""},
    {TRACE("{\"addr\":{}}"),
     "1:28: expected an address, a whole number below 2^64, found an object"},
    {TRACE("{\n\"size\":-1}"),
     "2:8: expected a size in bytes, a whole number below 2^64, found \"-1\""},
    {TRACE("{\"size\":1.0}"),
     "1:28: expected a size in bytes, a whole number below 2^64, found \"1.0\""},
    {TRACE("{\"size\":1e3}"),
     "1:28: expected a size in bytes, a whole number below 2^64, found \"1e3\""},
    {TRACE("{\"size\":18446744073709551616}"),
     "1:28: expected a size in bytes, a whole number below 2^64, found \"18446744073709551616\""},
    {TRACE("{\"stream\":null}"), "1:30: expected a stream, a whole number below 2^64, found null"},
    {TRACE("{\"time_us\":false}"),
     "1:31: expected a time in microseconds, a whole number below 2^64, found true or false"},
    /* What an event lacks. */
    {TRACE("{}"), "1:20: expected an event with the member \"action\", found one without"},
    {TRACE(ALLOC(16, 1) ",\n{\"addr\":1,\"size\":1}"),
     "2:1: expected an event with the member \"action\", found one without"},
    {TRACE("{\"action\":\"alloc\",\"addr\":1}"),
     "1:20: expected an event with the member \"size\", found one without"},
    {TRACE("{\"action\":\"alloc\",\"size\":1}"),
     "1:20: expected an event with the member \"addr\", found one without"},
    {TRACE("{\"action\":\"free_requested\",\"size\":1}"),
     "1:20: expected an event with the member \"addr\", found one without"},
    {TRACE("{\"action\":\"oom\",\"device_free\":1}"),
     "1:20: expected an event with the member \"size\", found one without"},
    {TRACE(ALLOC(0, 1)), "1:20: expected an address other than 0 for what was allocated, found 0"},
    /* The file's end. */
    {"{\"device_traces\":[[" ALLOC(16, 1), "1:57: expected more JSON, found the end of the file"},
    {TRACE("") "}", "1:23: expected JSON, found \"}\": trailing garbage"},
    {"Thread,Time,Action,Pointer,Size,Stream\n",
     "1:1: expected JSON, found \"Thread,Time,Action,Pointer,Size,Stream\\x0a\": invalid char in "
     "json "
     "text"},
};

START_TEST(malformed_snapshot)
{
  char rows[ROWS_BYTES];
  clpi_trace_reader *reader = snapshot(malformed[_i].text);
  clpt_fails(CLP_INVALID_ARGUMENT, rest_of_rows(reader, rows));
  const char *message = clp_last_error()->message;
  ck_assert_int_eq(strncmp(message, "trace:", strlen("trace:")), 0);
  ck_assert_str_eq(message + strlen("trace:"), malformed[_i].message);
  clpi_trace_close(reader);
}
END_TEST

START_TEST(truncated_anywhere)
{
  char text[sizeof(typical)];
  for (size_t length = 0; length < sizeof(typical) - 1; length += 3) {
    char rows[ROWS_BYTES];
    memcpy(text, typical, length);
    text[length] = '\0';
    clpi_trace_reader *reader = snapshot(text);
    clpt_fails(CLP_INVALID_ARGUMENT, rest_of_rows(reader, rows));
    clpi_trace_close(reader);
  }
}
END_TEST

/* A row that makes no sense where it stands is told by the place of its event. */
START_TEST(places_of_rows)
{
  static const char text[] = TRACE("\n  " ALLOC(16, 1) "," FREE(16));
  clpi_trace_reader *reader = snapshot(text);
  clpi_trace_event event;
  bool found;
  clpt_ok(clpi_trace_next(reader, &event, &found));
  ck_assert_uint_eq(event.line, 2);
  for (size_t i = 0; i < CLPI_TRACE_FIELDS; i++)
    ck_assert_uint_eq(event.columns[i], 3);
  clpt_fails(CLP_INVALID_ARGUMENT,
             clpi_trace_reject(reader, event.line, event.columns[CLPI_TRACE_SIZE], "no"));
  ck_assert_str_eq(clp_last_error()->message, "trace:2:3: no");
  clpt_ok(clpi_trace_next(reader, &event, &found));
  ck_assert_uint_eq(event.columns[CLPI_TRACE_POINTER], 41);
  clpi_trace_close(reader);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
  clpi_trace_reader *reader = (clpi_trace_reader *)1;
  clpt_fails(CLP_IO_ERROR, clpi_trace_open("/no/such.json", CLPI_TRACE_PYTORCH_SNAPSHOT, &reader));
  ck_assert_ptr_null(reader);
}
END_TEST

/* --- memory --- */

/* As many rows in a piece as there can be, piece after piece. */
START_TEST(events_as_short_as_can_be)
{
  enum { EVENTS = 4000 };
  char *text = NULL;
  size_t length, rows = 0;
  FILE *file = open_memstream(&text, &length);
  fputs("{\"device_traces\":[[", file);
  for (int i = 0; i < EVENTS; i++)
    fprintf(file, "%s{\"action\":\"alloc\",\"addr\":1,\"size\":1}", i > 0 ? "," : "");
  fputs("]]}", file);
  fclose(file);
  ck_assert_uint_gt(length, 4 * CLPI_JSON_PIECE_MAX);

  clpi_trace_reader *reader = snapshot(text);
  clpi_trace_event event;
  bool found = true;
  while (clpi_trace_next(reader, &event, &found) == CLP_SUCCESS && found)
    rows++;
  ck_assert(!found);
  ck_assert_uint_eq(rows, 2 * EVENTS - 1);
  clpi_trace_close(reader);
  free(text);
}
END_TEST

/* However long the file is, the memory is for what is live. */
START_TEST(memory_for_what_is_live)
{
  enum { PAIRS = 1000, LIVE = 2 };
  char *text = NULL;
  size_t length, rows = 0;
  FILE *file = open_memstream(&text, &length);
  fputs("{\"device_traces\":[[", file);
  for (int i = 1; i <= PAIRS; i++)
    fprintf(file,
            "{\"action\":\"free_requested\",\"addr\":%d,\"frames\":[{\"name\":\"f%d\"}]},"
            "{\"action\":\"alloc\",\"addr\":%d,\"size\":1},",
            i > LIVE ? i - LIVE : 0, i, i);
  fputs("{\"action\":\"snapshot\"}]]}", file);
  fclose(file);

  clpi_trace_reader *reader = snapshot(text);
  clpi_trace_event event;
  bool found = true;
  long most = 0;
  free(text);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  while (clpi_trace_next(reader, &event, &found) == CLP_SUCCESS && found) {
    most = clpt_host_live() > most ? clpt_host_live() : most;
    rows++;
  }
  unsigned long calls = clpt_host_stop();
  ck_assert(!found);
  ck_assert_uint_eq(rows, 2 * PAIRS - LIVE);
  ck_assert_uint_ge(calls, PAIRS);
  ck_assert_int_le(most, LIVE + 1);
  clpi_trace_close(reader);
}
END_TEST

START_TEST(without_host_memory)
{
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  unsigned long failures = 0;
  for (unsigned long nth = 0; status == CLP_OUT_OF_HOST_MEMORY; nth++) {
    clpi_trace_reader *reader = NULL;
    clpi_trace_event event;
    bool found = true;
    size_t rows = 0;
    int descriptor = clpt_text_file(typical);
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clpi_trace_open_descriptor(descriptor, "trace", CLPI_TRACE_PYTORCH_SNAPSHOT, &reader);
    while (!status && found) {
      status = clpi_trace_next(reader, &event, &found);
      rows += !status && found;
    }
    clpt_host_stop();
    if (clpt_host_failed()) {
      failures++;
      ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
    } else {
      ck_assert_uint_eq(rows, 4);
    }
    clpi_trace_close(reader);
  }
  ck_assert_int_eq(status, CLP_SUCCESS);
  ck_assert_uint_ge(failures, 6); /* the input, reader, snapshot, JSON and two blocks */
}
END_TEST

/* --- and then --- */

START_TEST(replay)
{
  clpi_replay_options options = clpt_pooled();
  clpi_replay_result result;
  clp_allocator *allocator = clpt_simulated(0);
  clpi_trace_reader *reader = snapshot(typical);
  clpt_ok(clpi_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.allocations, 2);
  ck_assert_uint_eq(result.frees, 1);
  ck_assert_uint_eq(result.recorded_failures, 1);
  ck_assert_uint_eq(result.peak_active_bytes, 507);
  clpi_trace_close(reader);
  clp_allocator_release(allocator);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("trace snapshot");
  TCase *rows = clpt_case(suite, "rows");
  tcase_add_test(rows, a_typical_one);
  tcase_add_test(rows, twice_and_gzipped);
  tcase_add_test(rows, rewind_from_the_middle);
  tcase_add_test(rows, shapes);
  tcase_add_test(rows, actions_of_pytorchs_own_pool);
  tcase_add_test(rows, ring_that_has_lost_its_begin);
  tcase_add_test(rows, free_that_is_missing);
  tcase_add_test(rows, times);
  tcase_add_test(rows, replay);
  TCase *devices = clpt_case(suite, "devices");
  tcase_add_test(devices, device_that_is_chosen);
  tcase_add_test(devices, several_devices_need_a_choice);
  tcase_add_test(devices, devices_that_are_not_there);
  tcase_add_test(devices, rmms_log_has_no_devices);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_loop_test(errors, malformed_snapshot, 0, sizeof(malformed) / sizeof(malformed[0]));
  tcase_add_test(errors, truncated_anywhere);
  tcase_add_test(errors, places_of_rows);
  tcase_add_test(errors, what_cannot_be_opened);
  TCase *memory = clpt_case(suite, "memory");
  tcase_add_test(memory, events_as_short_as_can_be);
  tcase_add_test(memory, memory_for_what_is_live);
  tcase_add_test(memory, without_host_memory);
  return clpt_run(suite);
}
