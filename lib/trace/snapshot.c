/* SPDX-License-Identifier: MIT */
/* PyTorch's memory snapshot: what json.dump writes of torch.cuda.memory._snapshot(). Read is
 *
 *   {"device_traces": [                      one list for each device, of its events in order
 *      [{"action": "alloc", "addr": 139637976727552, "size": 512, "stream": 0,
 *        "time_us": 1700000000000000}, ...], ...], ...}
 *
 * and the rest, the stacks of the events among it, is passed over. Actions:
 *
 *   alloc            an allocation of "size" bytes at "addr"
 *   free_requested   its free. From here on PyTorch may hand the block out again on its stream;
 *                    free_completed tells when the other streams that used it are through with it,
 *                    and a pool that knows streams waits for those by itself
 *   oom              an allocation of "size" bytes that failed
 *
 * All others are about PyTorch's own pool, which a replay puts another in the place of:
 * segment_alloc and the like, snapshot, annotate, and what later versions may add.
 *
 * "stream" is 0 and "time_us" the time before where they are missing, as in older versions.
 *
 * PyTorch keeps the last events only, so frees of what was allocated before them are left out.
 * Where a free is missing instead, since recording paused, the block is told as freed when its
 * address is allocated again. */
#include "trace/json.h"
#include "trace/live_sizes.h"
#include "trace/number.h"
#include "trace/parser.h"
#include "trace/place.h"

#include "core/error.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event ends with a brace and gives two rows at most; none is shorter than this. */
#define SHORTEST_EVENT "{\"action\":\"oom\",\"size\":1}"
enum { MOST_ROWS = 2 * (CLPI_JSON_PIECE_MAX / (sizeof(SHORTEST_EVENT) - 1) + 1) };

typedef enum event_action { ACTION_OTHER, ACTION_ALLOC, ACTION_FREE, ACTION_OOM } event_action;

/* How deep in the file these begin: the number of objects and lists around them. */
enum { DEPTH_OF_SNAPSHOT, DEPTH_OF_TRACES, DEPTH_OF_TRACE, DEPTH_OF_EVENT, DEPTH_OF_MEMBER };

/* The members of an event that are read. */
typedef enum event_member {
  MEMBER_ACTION,
  MEMBER_ADDRESS,
  MEMBER_SIZE,
  MEMBER_STREAM,
  MEMBER_TIME,
  MEMBERS /* also: another member */
} event_member;

static const struct {
  const char *name;
  const char *expected;
} members[MEMBERS] = {
    [MEMBER_ACTION] = {"action", "an action, a string"},
    [MEMBER_ADDRESS] = {"addr", "an address, a whole number below 2^64"},
    [MEMBER_SIZE] = {"size", "a size in bytes, a whole number below 2^64"},
    [MEMBER_STREAM] = {"stream", "a stream, a whole number below 2^64"},
    [MEMBER_TIME] = {"time_us", "a time in microseconds, a whole number below 2^64"},
};

typedef struct snapshot {
  clpi_json *json;
  bool has_chosen;
  unsigned chosen;  /* the device that was asked for */
  bool has_traces;  /* "device_traces" was seen, at: */
  bool is_traces;   /* the key before was it */
  bool in_traces;   /* inside of it */
  uint64_t line;    /* where "device_traces" is, until then where the snapshot begins */
  size_t column;    /* likewise */
  unsigned devices; /* in "device_traces" so far */
  bool has_device;  /* there was an event of: */
  unsigned device;  /* the one that the rows are of */

  /* The event that is being read. */
  clpi_trace_event event; /* what all of its rows have in common */
  event_action action;
  bool given[MEMBERS];
  event_member member; /* whose value is next */

  clpi_live_sizes live;
  bool at_end;
  size_t next, count; /* which rows are still to be given */
  clpi_trace_event rows[MOST_ROWS];
} snapshot;

/* --- messages --- */

/* A token, in words. */
static clpi_found_text show(const clpi_json_token *token)
{
  static const char *const words[] = {
      [CLPI_JSON_OBJECT] = "an object",
      [CLPI_JSON_LIST] = "a list",
      [CLPI_JSON_BOOLEAN] = "true or false",
      [CLPI_JSON_NULL] = "null",
  };
  clpi_found_text shown;
  if (token->kind == CLPI_JSON_NUMBER || token->kind == CLPI_JSON_STRING)
    return clpi_show_found(token->text, token->length, false);
  snprintf(shown.text, sizeof(shown.text), "%s", words[token->kind]);
  return shown;
}

static clp_status refuse(const snapshot *self, const clpi_json_token *token, const char *expected)
{
  return clpi_reject_place(clpi_json_name(self->json), token->line, token->column,
                           "expected %s, found %s", expected, show(token).text);
}

static clp_status expect(const snapshot *self, const clpi_json_token *token, clpi_json_kind kind,
                         const char *expected)
{
  return token->kind == kind ? CLP_SUCCESS : refuse(self, token, expected);
}

/* --- rows --- */

static void add_row(snapshot *self, clpi_trace_action action, uint64_t pointer, uint64_t size)
{
  assert(self->count < MOST_ROWS);
  clpi_trace_event *row = &self->rows[self->count++];
  *row = self->event;
  row->action = action;
  row->pointer = pointer;
  row->size = size;
}

static clp_status add_allocation(snapshot *self)
{
  uint64_t pointer = self->event.pointer, size = self->event.size, lost;
  if (clpi_live_sizes_take(&self->live, pointer, &lost))
    add_row(self, CLPI_TRACE_FREE, pointer, lost);
  if (!clpi_live_sizes_add(&self->live, pointer, size))
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to follow what is live");
  add_row(self, CLPI_TRACE_ALLOCATE, pointer, size);
  return CLP_SUCCESS;
}

static void add_free(snapshot *self)
{
  uint64_t pointer = self->event.pointer, size;
  if (clpi_live_sizes_take(&self->live, pointer, &size))
    add_row(self, CLPI_TRACE_FREE, pointer, size);
}

static clp_status add_rows(snapshot *self)
{
  switch (self->action) {
  case ACTION_ALLOC:
    return add_allocation(self);
  case ACTION_FREE:
    add_free(self);
    return CLP_SUCCESS;
  case ACTION_OOM:
    add_row(self, CLPI_TRACE_ALLOCATE_FAILURE, 0, self->event.size);
    return CLP_SUCCESS;
  case ACTION_OTHER:
    break;
  }
  return CLP_SUCCESS;
}

/* --- events --- */

static void begin_event(snapshot *self, const clpi_json_token *token)
{
  uint64_t time = self->event.nanoseconds;
  self->event = (clpi_trace_event){.nanoseconds = time, .line = token->line};
  for (clpi_trace_field field = 0; field < CLPI_TRACE_FIELDS; field++)
    self->event.columns[field] = token->column;
  self->action = ACTION_OTHER;
  memset(self->given, 0, sizeof(self->given));
}

static bool is_text(const clpi_json_token *token, const char *text)
{
  return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

static event_member find_member(const clpi_json_token *key)
{
  event_member found = 0;
  while (found < MEMBERS && !is_text(key, members[found].name))
    found++;
  return found;
}

static event_action find_action(const clpi_json_token *name)
{
  if (is_text(name, "alloc"))
    return ACTION_ALLOC;
  if (is_text(name, "free_requested"))
    return ACTION_FREE;
  return is_text(name, "oom") ? ACTION_OOM : ACTION_OTHER;
}

static bool read_number(const clpi_json_token *token, uint64_t *number)
{
  return token->kind == CLPI_JSON_NUMBER &&
         clpi_read_number(token->text, token->length, CLPI_DECIMAL, number) == CLPI_NUMBER_READ;
}

/* The time of day, as rows have it. */
static uint64_t time_of_day(uint64_t microseconds)
{
  return microseconds % (UINT64_C(24) * 60 * 60 * 1000000) * 1000;
}

static clp_status read_member(snapshot *self, const clpi_json_token *value)
{
  const char *expected = members[self->member].expected;
  uint64_t number = 0;
  if (self->member == MEMBER_ACTION ? value->kind != CLPI_JSON_STRING
                                    : !read_number(value, &number))
    return refuse(self, value, expected);
  self->given[self->member] = true;
  switch (self->member) {
  case MEMBER_ACTION:
    self->action = find_action(value);
    break;
  case MEMBER_ADDRESS:
    self->event.pointer = number;
    break;
  case MEMBER_SIZE:
    self->event.size = number;
    break;
  case MEMBER_STREAM:
    self->event.stream = number;
    break;
  case MEMBER_TIME:
    self->event.nanoseconds = time_of_day(number);
    break;
  case MEMBERS:
    break;
  }
  return CLP_SUCCESS;
}

static clp_status refuse_event(const snapshot *self, const char *expected, const char *found)
{
  return clpi_reject_place(clpi_json_name(self->json), self->event.line, self->event.columns[0],
                           "expected %s, found %s", expected, found);
}

static clp_status check_event(const snapshot *self)
{
  bool has_address = self->given[MEMBER_ADDRESS], has_size = self->given[MEMBER_SIZE];
  if (!self->given[MEMBER_ACTION])
    return refuse_event(self, "an event with the member \"action\"", "one without");
  if (self->action != ACTION_OOM && !has_address)
    return refuse_event(self, "an event with the member \"addr\"", "one without");
  if (self->action != ACTION_FREE && !has_size)
    return refuse_event(self, "an event with the member \"size\"", "one without");
  if (self->action == ACTION_ALLOC && self->event.pointer == 0 && self->event.size > 0)
    return refuse_event(self, "an address other than 0 for what was allocated", "0");
  return CLP_SUCCESS;
}

/* Whether the rows are of this device. Without a choice they are of the only one with events. */
static clp_status check_device(snapshot *self, bool *is_chosen)
{
  unsigned device = self->devices - 1;
  if (!self->has_device && (!self->has_chosen || self->chosen == device)) {
    self->has_device = true;
    self->device = device;
  }
  *is_chosen = self->has_device && self->device == device;
  if (*is_chosen || self->has_chosen)
    return CLP_SUCCESS;
  return clpi_reject_place(clpi_json_name(self->json), self->event.line, self->event.columns[0],
                           "expected events of one device, found some of device %u and some of "
                           "device %u: choose with --trace-device",
                           self->device, device);
}

static clp_status end_event(snapshot *self)
{
  if (self->action == ACTION_OTHER && self->given[MEMBER_ACTION])
    return CLP_SUCCESS;
  bool is_chosen;
  clp_status status = check_device(self, &is_chosen);
  if (status || !is_chosen)
    return status;
  status = check_event(self);
  return status ? status : add_rows(self);
}

/* --- the file --- */

static clp_status begin_traces(snapshot *self, const clpi_json_token *token)
{
  if (self->has_traces)
    return clpi_reject_place(clpi_json_name(self->json), token->line, token->column,
                             "expected one member \"device_traces\", found another");
  self->has_traces = self->in_traces = true;
  self->line = token->line;
  self->column = token->column;
  return expect(self, token, CLPI_JSON_LIST, "a list of the devices' events");
}

/* A value inside of "device_traces", or the begin of one. */
static clp_status take_value(snapshot *self, const clpi_json_token *value)
{
  clp_status status = CLP_SUCCESS;
  switch (value->depth) {
  case DEPTH_OF_TRACE:
    self->devices++;
    return expect(self, value, CLPI_JSON_LIST, "a list of one device's events");
  case DEPTH_OF_EVENT:
    status = expect(self, value, CLPI_JSON_OBJECT, "an event, an object");
    begin_event(self, value);
    return status;
  case DEPTH_OF_MEMBER:
    return self->member < MEMBERS ? read_member(self, value) : CLP_SUCCESS;
  default:
    return CLP_SUCCESS;
  }
}

static clp_status take_end(snapshot *self, const clpi_json_token *token)
{
  if (token->depth == DEPTH_OF_EVENT)
    return end_event(self);
  if (token->depth == DEPTH_OF_TRACES)
    self->in_traces = false;
  return CLP_SUCCESS;
}

/* A token that is not inside of "device_traces". */
static clp_status take_other(snapshot *self, const clpi_json_token *token)
{
  if (token->depth == DEPTH_OF_SNAPSHOT && token->kind != CLPI_JSON_END) {
    self->line = token->line;
    self->column = token->column;
    return expect(self, token, CLPI_JSON_OBJECT, "a snapshot, an object");
  }
  if (token->depth != DEPTH_OF_TRACES || token->kind == CLPI_JSON_END)
    return CLP_SUCCESS;
  if (token->kind == CLPI_JSON_KEY) {
    self->is_traces = is_text(token, "device_traces");
    return CLP_SUCCESS;
  }
  return self->is_traces ? begin_traces(self, token) : CLP_SUCCESS;
}

static clp_status take_token(const clpi_json_token *token, void *user_data)
{
  snapshot *self = user_data;
  if (!self->in_traces)
    return take_other(self, token);
  if (token->kind == CLPI_JSON_END)
    return take_end(self, token);
  if (token->kind != CLPI_JSON_KEY)
    return take_value(self, token);
  if (token->depth == DEPTH_OF_MEMBER)
    self->member = find_member(token);
  return CLP_SUCCESS;
}

/* What can only be missed at the end. */
static clp_status check_end(const snapshot *self)
{
  const char *name = clpi_json_name(self->json);
  if (!self->has_traces)
    return clpi_reject_place(name, self->line, self->column,
                             "expected a snapshot with the member \"device_traces\", found one "
                             "without");
  if (self->has_chosen && self->chosen >= self->devices)
    return clpi_reject_place(name, self->line, self->column,
                             "expected events of device %u, found %u device%s", self->chosen,
                             self->devices, self->devices == 1 ? "" : "s");
  if (!self->has_device && self->has_chosen)
    return clpi_reject_place(name, self->line, self->column,
                             "expected allocations of device %u, found none", self->chosen);
  if (!self->has_device)
    return clpi_reject_place(name, self->line, self->column,
                             "expected allocations, found none: recording begins with "
                             "torch.cuda.memory._record_memory_history()");
  return CLP_SUCCESS;
}

/* Reads on until there is a row, or the end. */
static clp_status read_rows(snapshot *self)
{
  clp_status status = CLP_SUCCESS;
  while (!status && self->next == self->count && !self->at_end) {
    self->next = self->count = 0;
    status = clpi_json_read(self->json, &self->at_end);
    if (!status && self->at_end)
      status = check_end(self);
  }
  return status;
}

static clp_status next_row(void *of, clpi_trace_event *event, bool *found)
{
  snapshot *self = of;
  clp_status status = read_rows(self);
  if (status)
    return status;
  *found = self->next < self->count;
  if (*found)
    *event = self->rows[self->next++];
  return CLP_SUCCESS;
}

static clp_status open_snapshot(clpi_input *input, void **out)
{
  snapshot *self = calloc(1, sizeof(*self));
  if (!self)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to read a trace");
  clp_status status = clpi_json_open(input, CLPI_JSON_PIECE_MAX, take_token, self, &self->json);
  if (status)
    free(self);
  else
    *out = self;
  return status;
}

static void close_snapshot(void *of)
{
  snapshot *self = of;
  clpi_live_sizes_end(&self->live);
  clpi_json_close(self->json);
  free(self);
}

static clp_status rewind_snapshot(void *of)
{
  snapshot *self = of;
  clpi_live_sizes_end(&self->live);
  self->has_traces = self->in_traces = self->has_device = self->at_end = false;
  self->devices = 0;
  self->event.nanoseconds = 0;
  self->next = self->count = 0;
  return clpi_json_rewind(self->json);
}

static clp_status choose_device(void *of, unsigned device)
{
  snapshot *self = of;
  self->has_chosen = true;
  self->chosen = device;
  return CLP_SUCCESS;
}

const clpi_trace_parser clpi_snapshot_parser = {.open = open_snapshot,
                                                .close = close_snapshot,
                                                .next = next_row,
                                                .rewind = rewind_snapshot,
                                                .choose_device = choose_device};
