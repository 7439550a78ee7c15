/* SPDX-License-Identifier: MIT */
/* From here on a row of a table (rows.h) is a function. */
#include "rows.h"

/* Of two rows of one call, the lines in the table differ. */
#define ROW_NAME(call)          ROW_NAME_OF(call, __LINE__)
#define ROW_NAME_OF(call, line) ROW_NAME_AT(call, line)
#define ROW_NAME_AT(call, line) row_##call##_##line

#define REFUSED(call, arguments, expected, message)                                                \
  REFUSED_EACH(1, call, arguments, expected, message)
#define REFUSED_EACH(count, call, arguments, expected, message)                                    \
  static clp_status ROW_NAME(call)(size_t i)                                                       \
  {                                                                                                \
    (void)i;                                                                                       \
    return call arguments;                                                                         \
  }

#define DENIED(call, arguments, expected, message)                                                 \
  static clp_status ROW_NAME(call)(size_t i)                                                       \
  {                                                                                                \
    (void)i;                                                                                       \
    return call arguments ? (clp_status)CLPT_WRONG_ANSWER : clp_last_error()->status;              \
  }

#define ANSWERS(call, arguments, is_value)                                                         \
  static clp_status ROW_NAME(call)(size_t i)                                                       \
  {                                                                                                \
    (void)i;                                                                                       \
    return call arguments is_value ? CLP_SUCCESS : (clp_status)CLPT_WRONG_ANSWER;                  \
  }

#define IGNORES(call, arguments)                                                                   \
  static clp_status ROW_NAME(call)(size_t i)                                                       \
  {                                                                                                \
    (void)i;                                                                                       \
    call arguments;                                                                                \
    return CLP_SUCCESS;                                                                            \
  }
