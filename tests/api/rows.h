/* SPDX-License-Identifier: MIT */
/* Wrong arguments: one row for each way in which a public call refuses an argument, and for each
 * call that takes NULL. And structs that begin with their size.
 *
 * The rows are in tests/api/NAME.def, named as the header that declares the calls, so a row is
 * found by the name of its call. A program includes the tables after this header, which makes a
 * function of each row.
 *
 *   REFUSED(call, (arguments), STATUS, "text")  returns CLP_STATUS; the message contains the text
 *   REFUSED_EACH(n, call, ...)                  the same for i from 0 to n - 1
 *   DENIED(call, (arguments), STATUS, "text")   returns 0 or NULL, and STATUS is the last error
 *   ANSWERS(call, (arguments), == value)        returns what is stated, and leaves the last error
 *   IGNORES(call, (arguments))                  returns nothing, and leaves the last error
 *   SIZED(call, type, last, valid, (arguments), undo)
 *     takes `given`, a struct of each size that has the fields to `last`; `undo` ends what it made
 *
 * tests/house/check-library.py fails if a public function is in no row. A failure names the row's
 * file, line and call. After a crash, a debugger shows the row's function, row_CALL_LINE. */
#ifndef CLPT_API_ROWS_H
#define CLPT_API_ROWS_H

#include <check.h>
#include <clpool/status.h>
#include <stddef.h>

/** A public struct that begins with its size: a call reads it (options) or fills it (results). */
typedef struct clpt_sized {
  const char *call, *name;
  size_t bytes;                    /**< its sizeof */
  size_t least;                    /**< the smallest struct_size that the call takes */
  const void *valid;               /**< options: a struct that the call takes. NULL for results */
  clp_status (*make)(void *given); /**< makes the call, and ends what it made */
} clpt_sized;

typedef struct clpt_row {
  const char *call, *file;
  int line;
  size_t count;                 /**< how many calls the row makes */
  clp_status (*make)(size_t i); /**< call number i; CLPT_WRONG_ANSWER if the answer is wrong */
  clp_status status;            /**< what the call must return */
  const char *text;             /**< what the message must contain */
  const clpt_sized *sized;      /**< NULL: no row of SIZED */
} clpt_row;

enum { CLPT_WRONG_ANSWER = -1, CLPT_MOST_ROWS = 500 };

/** The program's rows, as its tables add them. */
extern const clpt_row *clpt_rows[CLPT_MOST_ROWS];
extern size_t clpt_row_count;

/** Rows of files with this in their names are left out. NULL: none. */
extern const char *clpt_rows_left_out;

/** Adds a case for each row. `read` reads what no refused call may change: `bytes` that it fills.
 */
void clpt_add_rows(Suite *suite, void (*setup)(void), void (*teardown)(void),
                   void (*read)(void *figures), size_t bytes);

/** @name Out-pointers
 * The out-pointer of a row's call. After the call, each_row checks what it points to, which
 * is filled with bytes that no call writes. @{ */

#define OBJECT       clpt_out(sizeof(void *), 0x00)             /**< which becomes NULL */
#define MEMORY       clpt_out(sizeof(clp_memory), 0x00)         /**< which becomes 0 */
#define CUDA_POINTER clpt_out(sizeof(unsigned long long), 0x00) /**< which becomes 0 */
#define DESCRIPTOR   clpt_out(sizeof(int), 0xFF)                /**< which becomes -1 */
#define VALUE        clpt_out(0, 0x00)                          /**< which the call leaves alone */
#define RESULT(type) clpt_result_out(sizeof(type))              /**< as well; a sized struct */

void *clpt_out(size_t bytes, unsigned char byte);
void *clpt_result_out(size_t struct_size);

/** @} */

/** Number i of a list of values. */
#define ONE_OF(type, ...) (((const type[]){__VA_ARGS__})[i])

/* Of two rows of one call, the lines in the table differ. */
#define ROW_NAME(call)          ROW_NAME_OF(call, __LINE__)
#define ROW_NAME_OF(call, line) ROW_NAME_AT(call, line)
#define ROW_NAME_AT(call, line) row_##call##_##line

#define ROW(count, call, expected, message, ...)                                                   \
  static clp_status ROW_NAME(call)(size_t i)                                                       \
  {                                                                                                \
    (void)i;                                                                                       \
    __VA_ARGS__;                                                                                   \
  }                                                                                                \
  __attribute__((constructor)) static void ROW_NAME(add_##call)(void)                              \
  {                                                                                                \
    static const clpt_row row = {#call,          __FILE__, __LINE__, count,                        \
                                 ROW_NAME(call), expected, message,  NULL};                        \
    clpt_rows[clpt_row_count++] = &row;                                                            \
  }
#define REFUSED(call, arguments, expected, message)                                                \
  REFUSED_EACH(1, call, arguments, expected, message)
#define REFUSED_EACH(count, call, arguments, expected, message)                                    \
  ROW(count, call, CLP_##expected, message, return call arguments)
#define DENIED(call, arguments, expected, message)                                                 \
  ROW(1, call, CLP_##expected, message,                                                            \
      return call arguments ? (clp_status)CLPT_WRONG_ANSWER : clp_last_error()->status)
#define ANSWERS(call, arguments, is_value)                                                         \
  ROW(1, call, CLP_SUCCESS, "",                                                                    \
      return call arguments is_value ? CLP_SUCCESS : (clp_status)CLPT_WRONG_ANSWER)
#define IGNORES(call, arguments) ROW(1, call, CLP_SUCCESS, "", call arguments; return CLP_SUCCESS)
#define SIZED(call, type, last, valid, arguments, undo)                                            \
  static clp_status ROW_NAME(call)(void *given)                                                    \
  {                                                                                                \
    clp_status status = call arguments;                                                            \
    if (!status)                                                                                   \
      undo;                                                                                        \
    return status;                                                                                 \
  }                                                                                                \
  static const clpt_sized ROW_NAME(sized_##call) = {                                               \
      #call, #type,         sizeof(type), offsetof(type, last) + sizeof(((type *)NULL)->last),     \
      valid, ROW_NAME(call)};                                                                      \
  __attribute__((constructor)) static void ROW_NAME(add_##call)(void)                              \
  {                                                                                                \
    static const clpt_row row = {#call, __FILE__,    __LINE__, 0,                                  \
                                 NULL,  CLP_SUCCESS, "",       &ROW_NAME(sized_##call)};           \
    clpt_rows[clpt_row_count++] = &row;                                                            \
  }

#endif
