/* SPDX-License-Identifier: MIT */
/* Checking rows of wrong arguments, and structs that begin with their size. */
#include "rows.h"

#include "support/suite.h"

#include <stdalign.h>
#include <stdint.h>
#include <sys/param.h>

enum {
  OUT_BYTES = 256,
  UNTOUCHED = 0xEE,
  TAIL = 24,        /* the most bytes that a newer caller's struct is longer here */
  LARGEST = 4096,   /* no version of any struct is larger */
  CANARY_BYTES = 64 /* behind what results may be written to */
};

const clpt_row *clpt_rows[CLPT_MOST_ROWS];
size_t clpt_row_count;
const char *clpt_rows_left_out;
static void (*read_figures)(void *figures);
static size_t figures_bytes;

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

/* A message about NULL that names a public call must name the one that was made. */
static bool names_another(const char *call, const char *message)
{
  static const char ending[] = "is NULL";
  size_t bytes = strlen(message), call_bytes = strlen(call);
  return strncmp(message, "clp_", 4) == 0 && bytes >= sizeof(ending) &&
         strcmp(message + bytes - strlen(ending), ending) == 0 &&
         (strncmp(message, call, call_bytes) != 0 || message[call_bytes] != ':');
}

static void check_call(const clpt_row *row, size_t i)
{
#define REQUIRE(condition, ...)                                                                    \
  ck_assert_msg(condition, "%s:%d: %s, i = %zu: status %s, last error %s, \"%s\"", row->file,      \
                row->line, row->call, i, clp_status_name(status), clp_status_name(error->status),  \
                error->message)
  const clp_error *error = clp_last_error();
  memset(out, UNTOUCHED, sizeof(out));
  memset(expected, UNTOUCHED, sizeof(expected));
  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  clp_status status = row->make(i);
  error = clp_last_error();
  REQUIRE(status == row->status);
  if (status) {
    REQUIRE(error->status == status);
    REQUIRE(error->message[0] && strstr(error->message, row->text));
    REQUIRE(!names_another(row->call, error->message));
  } else { /* a call that takes its arguments does not change the last error */
    REQUIRE(error->status == CLP_BUSY && error->native_code == 5);
    REQUIRE(strcmp(error->message, "from before") == 0);
  }
  ck_assert_msg(memcmp(out, expected, sizeof(out)) == 0, "%s:%d: %s, i = %zu: the out-pointer",
                row->file, row->line, row->call, i);
}

/* --- structs that begin with their size --- */

/* Bytes that are exactly so many: a sanitizer or valgrind sees each read past them. */
static unsigned char *bytes_of(size_t size, size_t behind)
{
  unsigned char *bytes = malloc(size + behind);
  ck_assert_ptr_nonnull(bytes);
  memset(bytes, UNTOUCHED, size + behind);
  return bytes;
}

/* The call gives this status for a struct of so many bytes. */
static void gives(const clpt_sized *sized, clp_status status_wanted, void *given, size_t size)
{
  memcpy(given, &size, sizeof(size));
  (void)clp_set_last_error(CLP_SUCCESS, 0, "");
  clp_status status = sized->make(given);
  ck_assert_msg(status == status_wanted && clp_last_error()->status == status &&
                    (!status || strstr(clp_last_error()->message, sized->name)),
                "%s gave %s for a struct_size of %zu: %s", sized->call, clp_status_name(status),
                size, clp_last_error()->message);
}

/* Options of so many bytes, of which those that the library does not know are 0. One of these may
 * be set, which no version knows: then a struct is refused, unless it ends before. */
static void check_options(const clpt_sized *sized, size_t size, size_t behind, size_t set)
{
  unsigned char *given = bytes_of(size, behind);
  memset(given, 0, size);
  memcpy(given, sized->valid, MIN(size, sized->bytes));
  if (set) {
    given[set] = 1;
    gives(sized, CLP_INVALID_ARGUMENT, given, size);
  }
  gives(sized, CLP_SUCCESS, given, set ? set : size);
  free(given);
}

static void check_all_options(const clpt_sized *sized)
{
  for (size_t behind = 0; behind <= sized->bytes; behind += sized->bytes) {
    check_options(sized, sized->least, behind, 0);
    for (size_t size = sized->bytes; size < sized->bytes + TAIL; size++)
      check_options(sized, size, behind, 0);
    check_options(sized, LARGEST, behind, 0);
  }
  for (size_t byte = sized->bytes; byte < sized->bytes + TAIL; byte++)
    check_options(sized, sized->bytes + TAIL, 0, byte);
}

/* What the library knows of the struct is as in `full`, up to the caller's size; what only the
 * caller knows is 0; what lies behind is untouched. */
static void check_filled(const clpt_sized *sized, size_t size, const unsigned char *full)
{
  unsigned char *given = bytes_of(size, CANARY_BYTES), *wanted = bytes_of(size, CANARY_BYTES);
  memset(wanted, 0, size);
  memcpy(wanted, full, MIN(size, sized->bytes));
  memcpy(wanted, &size, sizeof(size));
  gives(sized, CLP_SUCCESS, given, size);
  for (size_t byte = 0; byte < size + CANARY_BYTES; byte++)
    ck_assert_msg(given[byte] == wanted[byte], "%s: of %zu bytes, byte %zu is 0x%02x, not 0x%02x",
                  sized->call, size, byte, given[byte], wanted[byte]);
  free(given);
  free(wanted);
}

static void check_results(const clpt_sized *sized)
{
  unsigned char *full = bytes_of(sized->bytes, 0);
  gives(sized, CLP_SUCCESS, full, sized->bytes);
  for (size_t size = sized->least; size <= sized->bytes + TAIL; size++)
    check_filled(sized, size, full);
  check_filled(sized, LARGEST, full);
  free(full);
}

static void check_sized(const clpt_sized *sized)
{
  const size_t none[] = {0,       1, sizeof(size_t), sized->least - 1, LARGEST + 1, SIZE_MAX / 2,
                         SIZE_MAX};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
    unsigned char *given = bytes_of(sized->bytes, 0);
    gives(sized, CLP_INVALID_ARGUMENT, given, none[i]);
    for (size_t byte = sizeof(size_t); byte < sized->bytes; byte++)
      ck_assert_uint_eq(given[byte], UNTOUCHED);
    free(given);
  }
  if (sized->valid)
    check_all_options(sized);
  else
    check_results(sized);
}

START_TEST(each_row)
{
  const clpt_row *row = clpt_rows[_i];
  unsigned char *before = calloc(2, figures_bytes), *after = before + figures_bytes;
  bool is_checked = !clpt_rows_left_out || !strstr(row->file, clpt_rows_left_out);
  if (is_checked && row->sized)
    check_sized(row->sized);
  read_figures(before);
  for (size_t i = 0; is_checked && i < row->count; i++)
    check_call(row, i);
  read_figures(after);
  ck_assert_msg(memcmp(before, after, figures_bytes) == 0, "%s:%d: %s changed something", row->file,
                row->line, row->call);
  free(before);
}
END_TEST

void clpt_add_rows(Suite *suite, void (*setup)(void), void (*teardown)(void),
                   void (*read)(void *figures), size_t bytes)
{
  TCase *tests = clpt_case(suite, "rows");
  read_figures = read;
  figures_bytes = bytes;
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_row, 0, (int)clpt_row_count);
}
