/* SPDX-License-Identifier: MIT */
/* Public structs that begin with their size. */
#include "sized.h"

#include "support/suite.h"

#include <stdint.h>
#include <sys/param.h>

enum {
  UNTOUCHED = 0xEE,
  TAIL = 24,        /* the most bytes that a newer caller's struct is longer here */
  LARGEST = 4096,   /* no version of any struct is larger */
  CANARY_BYTES = 64 /* behind what results may be written to */
};

/* Options of the caller: `size` bytes, of which those that the library does not know are 0, and
 * `behind` bytes that are not 0. Where there is nothing behind, a sanitizer or valgrind sees each
 * read past them. */
static unsigned char *options_of(const clpt_sized *sized, size_t size, size_t behind)
{
  unsigned char *given = malloc(MAX(size, sizeof(size)) + behind);

  ck_assert_ptr_nonnull(given);
  memset(given, 0, MAX(size, sizeof(size)));
  memset(given + size, UNTOUCHED, behind);
  memcpy(given, sized->valid, MIN(size, sized->bytes));
  memcpy(given, &size, sizeof(size));
  return given;
}

static void refuses_size(const clpt_sized *sized, size_t size, void *given)
{
  memcpy(given, &size, sizeof(size));
  (void)clp_set_last_error(CLP_SUCCESS, 0, "");
  clp_status status = sized->make(given);
  ck_assert_msg(status == CLP_INVALID_ARGUMENT && clp_last_error()->status == status,
                "%s gave %s for a struct_size of %zu: %s", sized->call, clp_status_name(status),
                size, clp_last_error()->message);
  clpt_message_has(sized->name);
  clpt_message_has("struct_size is");
}

/* A caller's struct that is too small, or whose size was never set. Nothing is written to it, and
 * past its real size nothing is read. */
static void check_sizes_that_no_version_has(const clpt_sized *sized)
{
  const size_t sizes[] = {
      0,       1, sizeof(size_t) - 1, sizeof(size_t), sized->least - 1, LARGEST + 1, SIZE_MAX / 2,
      SIZE_MAX};

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    unsigned char *given = malloc(sized->bytes), *copy = malloc(sized->bytes);
    ck_assert(given && copy);
    memset(given, UNTOUCHED, sized->bytes);
    memset(copy, UNTOUCHED, sized->bytes);
    memcpy(copy, &sizes[i], sizeof(sizes[i]));
    refuses_size(sized, sizes[i], given);
    ck_assert_mem_eq(given, copy, sized->bytes);
    free(given);
    free(copy);
  }
}

/* --- options --- */

static void takes_before(const clpt_sized *sized, size_t size, size_t behind)
{
  unsigned char *given = options_of(sized, size, behind);
  clp_status status = sized->make(given);

  ck_assert_msg(!status, "%s gave %s for a struct_size of %zu: %s", sized->call,
                clp_status_name(status), size, clp_last_error()->message);
  free(given);
}

static void takes(const clpt_sized *sized, size_t size)
{
  takes_before(sized, size, 0);
  takes_before(sized, size, sized->bytes);
}

static void refuses_a_set_byte(const clpt_sized *sized, size_t byte)
{
  unsigned char *given = options_of(sized, sized->bytes + TAIL, 0);

  given[byte] = 1;
  (void)clp_set_last_error(CLP_SUCCESS, 0, "");
  clp_status status = sized->make(given);
  ck_assert_msg(status == CLP_INVALID_ARGUMENT && clp_last_error()->status == status,
                "%s gave %s, although byte %zu is set, which no version knows", sized->call,
                clp_status_name(status), byte);
  clpt_message_has(sized->name);
  memcpy(given, &byte, sizeof(byte)); /* a struct that ends before that byte */
  status = sized->make(given);
  ck_assert_msg(!status, "%s read past a struct_size of %zu", sized->call, byte);
  free(given);
}

static void check_options(const clpt_sized *sized)
{
  takes(sized, sized->least);
  takes(sized, sized->bytes);
  for (size_t more = 1; more <= TAIL; more++)
    takes(sized, sized->bytes + more);
  takes(sized, LARGEST);
  for (size_t byte = sized->bytes; byte < sized->bytes + TAIL; byte++)
    refuses_a_set_byte(sized, byte);
}

/* --- results --- */

/* What the library knows of the struct is as in `full`, up to the caller's size; what only the
 * caller knows is 0; what lies behind is untouched. */
static void check_filled(const clpt_sized *sized, size_t size, const unsigned char *full)
{
  const size_t all = size + CANARY_BYTES, known = MIN(size, sized->bytes);
  unsigned char *given = malloc(all), *wanted = malloc(all);

  ck_assert(given && wanted);
  memset(given, UNTOUCHED, all);
  memcpy(given, &size, sizeof(size));
  memset(wanted, UNTOUCHED, all);
  memset(wanted, 0, size);
  memcpy(wanted, full, known);
  memcpy(wanted, &size, sizeof(size));
  clp_status status = sized->make(given);
  ck_assert_msg(!status, "%s gave %s for a struct_size of %zu: %s", sized->call,
                clp_status_name(status), size, clp_last_error()->message);
  for (size_t byte = 0; byte < all; byte++)
    ck_assert_msg(given[byte] == wanted[byte], "%s: of %zu bytes, byte %zu is 0x%02x, not 0x%02x",
                  sized->call, size, byte, given[byte], wanted[byte]);
  free(given);
  free(wanted);
}

static void check_results(const clpt_sized *sized)
{
  unsigned char *full = malloc(sized->bytes);

  ck_assert_ptr_nonnull(full);
  memset(full, UNTOUCHED, sized->bytes);
  memcpy(full, &sized->bytes, sizeof(sized->bytes));
  clpt_ok(sized->make(full));
  for (size_t size = sized->least; size <= sized->bytes + TAIL; size++)
    check_filled(sized, size, full);
  check_filled(sized, LARGEST, full);
  free(full);
}

void clpt_check_sized(const clpt_sized *sized)
{
  check_sizes_that_no_version_has(sized);
  if (sized->valid)
    check_options(sized);
  else
    check_results(sized);
}
