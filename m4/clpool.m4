# clpool.m4 - for programs that use clpool and Autoconf.
# SPDX-License-Identifier: MIT
#
# PKG_CHECK_CLPOOL([MINIMUM-VERSION], [ACTION-IF-FOUND], [ACTION-IF-NOT-FOUND])
#
# Sets CLPOOL_CFLAGS and CLPOOL_LIBS. Without actions, a missing clpool is an error.
AC_DEFUN([PKG_CHECK_CLPOOL],
  [PKG_CHECK_MODULES([CLPOOL], [clpool m4_ifnblank([$1], [>= $1])], [$2], [$3])])
