/* SPDX-License-Identifier: MIT */
/* The library's version. */
#include <clpool/version.h>

const char *clp_version(void)
{
  return CLP_VERSION_STRING;
}
