/* SPDX-License-Identifier: MIT */
/* Tables of wrong arguments: one row for each way in which a public call refuses an argument, and
 * for each call that takes NULL.
 *
 * The rows are in tests/api/NAME.def, named as the header that declares the calls, so a row is
 * found by the name of its call. A program includes the tables twice: after row_functions.h, which
 * makes a function of each row, and after row_entries.h, which makes an entry of an array of it.
 *
 *   REFUSED(call, (arguments), STATUS, "text")  returns CLP_STATUS; the message contains the text
 *   REFUSED_EACH(n, call, ...)                  the same for i from 0 to n - 1
 *   DENIED(call, (arguments), STATUS, "text")   returns 0 or NULL, and STATUS is the last error
 *   ANSWERS(call, (arguments), == value)        returns what is stated, and leaves the last error
 *   IGNORES(call, (arguments))                  returns nothing, and leaves the last error
 *
 * tests/house/check-source.py fails if a public function is in no row. A failure names the row's
 * call and arguments. After a crash, a debugger shows the row's function, row_CALL_LINE. */
#ifndef CLPT_API_ROWS_H
#define CLPT_API_ROWS_H

#include <clpool/status.h>
#include <stddef.h>

typedef struct clpt_row {
  const char *call;
  const char *arguments;
  size_t count; /**< how many calls the row makes */
  clp_status (*make)(
      size_t i);     /**< makes call number i; CLPT_WRONG_ANSWER if the answer is wrong */
  clp_status status; /**< what the call must return */
  const char *text;  /**< what the message must contain */
} clpt_row;

enum { CLPT_WRONG_ANSWER = -1 };

/** Makes call number i of a row, and checks its status, the last error, and the out-pointer. */
void clpt_check_row(const clpt_row *row, size_t i);

/** @name Out-pointers
 * The out-pointer of a row's call. After the call, clpt_check_row checks what it points to, which
 * is filled with bytes that no call writes. @{ */

/** A pointer to an object, which the call must set to NULL. */
#define OBJECT clpt_out(sizeof(void *), 0x00)
/** A clp_memory, which the call must set to 0. */
#define MEMORY clpt_out(sizeof(clp_memory), 0x00)
/** A CUDA pointer, which the call must set to 0. */
#define CUDA_POINTER clpt_out(sizeof(unsigned long long), 0x00)
/** A file descriptor, which the call must set to -1. */
#define DESCRIPTOR clpt_out(sizeof(int), 0xFF)
/** A value of any type, which the call must leave alone. */
#define VALUE clpt_out(0, 0x00)
/** A struct that begins with its size, which the call must leave alone. */
#define RESULT(type) clpt_result_out(sizeof(type))

void *clpt_out(size_t bytes, unsigned char byte);
void *clpt_result_out(size_t struct_size);

/** @} */

/** Number i of a list of values. */
#define ONE_OF(type, ...) (((const type[]){__VA_ARGS__})[i])

#endif
