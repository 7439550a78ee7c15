/* SPDX-License-Identifier: MIT */
/* Checking one row of a table of wrong arguments. */
#include "rows.h"

#include "support/suite.h"

#include <stdalign.h>

enum { OUT_BYTES = 256, UNTOUCHED = 0xEE };

/* What the call's out-pointer points to, and what must be there after the call. */
static alignas(max_align_t) unsigned char out[OUT_BYTES];
static unsigned char expected[OUT_BYTES];

void *clpt_out(size_t bytes, unsigned char byte)
{
  memset(expected, byte, bytes);
  return out;
}

void *clpt_result_out(size_t struct_size)
{
  memcpy(expected, &struct_size, sizeof(struct_size));
  memcpy(out, &struct_size, sizeof(struct_size));
  return out;
}

/* A call that takes its arguments must not change the last error. */
static const clp_error before = {CLP_BUSY, 5, "from before"};

static void check_taken(const clpt_row *row)
{
  ck_assert_msg(clp_last_error()->status == before.status &&
                    clp_last_error()->native_code == before.native_code &&
                    strcmp(clp_last_error()->message, before.message) == 0,
                "%s%s succeeded and set the last error: %s", row->call, row->arguments,
                clp_last_error()->message);
}

/* A message about NULL that names a public call names the one that was made. */
static void check_name(const clpt_row *row, const char *message)
{
  static const char ending[] = "is NULL";
  size_t bytes = strlen(message), call_bytes = strlen(row->call);

  if (strncmp(message, "clp_", 4) != 0 || bytes < sizeof(ending) ||
      strcmp(message + bytes - strlen(ending), ending) != 0)
    return;
  ck_assert_msg(strncmp(message, row->call, call_bytes) == 0 && message[call_bytes] == ':',
                "%s%s: the message names another call: %s", row->call, row->arguments, message);
}

static void check_refused(const clpt_row *row, size_t i)
{
  const clp_error *error = clp_last_error();

  ck_assert_msg(error->status == row->status, "%s%s, i = %zu, set the last error %s", row->call,
                row->arguments, i, clp_status_name(error->status));
  ck_assert_msg(error->message[0] != '\0', "%s%s, i = %zu, gave no message", row->call,
                row->arguments, i);
  ck_assert_msg(strstr(error->message, row->text) != NULL, "%s%s, i = %zu: \"%s\" lacks \"%s\"",
                row->call, row->arguments, i, error->message, row->text);
  check_name(row, error->message);
}

void clpt_check_row(const clpt_row *row, size_t i)
{
  memset(out, UNTOUCHED, sizeof(out));
  memset(expected, UNTOUCHED, sizeof(expected));
  (void)clp_set_last_error(before.status, before.native_code, before.message);
  clp_status status = row->make(i);
  ck_assert_msg((int)status != CLPT_WRONG_ANSWER, "%s%s gave another answer", row->call,
                row->arguments);
  ck_assert_msg(status == row->status, "%s%s, i = %zu, gave %s, not %s: %s", row->call,
                row->arguments, i, clp_status_name(status), clp_status_name(row->status),
                clp_last_error()->message);
  if (status)
    check_refused(row, i);
  else
    check_taken(row);
  for (size_t byte = 0; byte < OUT_BYTES; byte++)
    ck_assert_msg(out[byte] == expected[byte],
                  "%s%s, i = %zu: byte %zu of what the out-pointer points to is 0x%02x, not 0x%02x",
                  row->call, row->arguments, i, byte, out[byte], expected[byte]);
}
