/* SPDX-License-Identifier: MIT */
/* From here on a row of a table (rows.h) is an entry of an array of clpt_row. */
#undef REFUSED
#undef REFUSED_EACH
#undef DENIED
#undef ANSWERS
#undef IGNORES

#define REFUSED(call, arguments, expected, message)                                                \
  {#call, #arguments, 1, ROW_NAME(call), CLP_##expected, message},

#define REFUSED_EACH(count, call, arguments, expected, message)                                    \
  {#call, #arguments, count, ROW_NAME(call), CLP_##expected, message},

#define DENIED(call, arguments, expected, message)                                                 \
  {#call, #arguments, 1, ROW_NAME(call), CLP_##expected, message},

#define ANSWERS(call, arguments, is_value)                                                         \
  {#call, #arguments " " #is_value, 1, ROW_NAME(call), CLP_SUCCESS, ""},

#define IGNORES(call, arguments) {#call, #arguments, 1, ROW_NAME(call), CLP_SUCCESS, ""},
