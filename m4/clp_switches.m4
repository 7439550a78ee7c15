# SPDX-License-Identifier: MIT
# The switches of configure. Their flags go to variables of their own, never to the user's CFLAGS.

# CLP_WARNINGS(FLAGS): those that $CC knows, to WARN_CFLAGS. --enable-werror makes warnings errors:
# for continuous integration, never by default.
AC_DEFUN([CLP_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
    [clp_werror=$enableval], [clp_werror=no])
  WARN_CFLAGS=
  clp_saved_CFLAGS=$CFLAGS
  for clp_flag in $1; do
    CFLAGS="$clp_saved_CFLAGS -Werror $clp_flag"
    AC_MSG_CHECKING([whether $CC takes $clp_flag])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([typedef int clp_nothing;])],
      [AC_MSG_RESULT([yes])
       AS_VAR_APPEND([WARN_CFLAGS], [" $clp_flag"])],
      [AC_MSG_RESULT([no])])
  done
  CFLAGS=$clp_saved_CFLAGS
  AS_IF([test "x$clp_werror" = xyes], [AS_VAR_APPEND([WARN_CFLAGS], [" -Werror"])])
  AC_SUBST([WARN_CFLAGS])
])

# CLP_LINK_WITH(FLAGS, PROGRAM, ACTION-IF-NOT): whether $CC links PROGRAM with FLAGS.
AC_DEFUN([CLP_LINK_WITH], [
  clp_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $1"
  AC_MSG_CHECKING([whether $CC links with $1])
  AC_LINK_IFELSE([$2], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
    $3])
  CFLAGS=$clp_saved_CFLAGS
])

# --enable-sanitizer=LIST: what -fsanitize takes.
AC_DEFUN([CLP_SWITCH_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST],
      [build with -fsanitize=LIST: "address,undefined" or "thread"])],
    [clp_sanitizer=$enableval], [clp_sanitizer=no])
  AS_CASE([$clp_sanitizer],
    [no], [],
    [yes], [AC_MSG_ERROR([--enable-sanitizer needs a list, such as address,undefined])],
    [clp_flags="-fsanitize=$clp_sanitizer -fno-sanitize-recover=all"
     CLP_LINK_WITH([$clp_flags], [AC_LANG_PROGRAM([], [])],
       [AC_MSG_ERROR([$CC cannot build with -fsanitize=$clp_sanitizer])])
     SANITIZER_CFLAGS="$clp_flags -fno-omit-frame-pointer -g"
     SANITIZER_LDFLAGS=$clp_flags])
  AC_SUBST([SANITIZER_CFLAGS])
  AC_SUBST([SANITIZER_LDFLAGS])
  AM_CONDITIONAL([SANITIZED], [test "x$clp_sanitizer" != xno])
])

# The linker's --wrap holds between objects; link-time optimization makes one of all of them. Programs
# that wrap are linked without it, of the machine code that objects then have, too. That is GCC's.
AC_DEFUN([CLP_LTO], [
  AS_CASE([" $CFLAGS "], [*" -flto"*], [
    clp_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror -ffat-lto-objects"
    AC_MSG_CHECKING([whether $CC takes -ffat-lto-objects])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([typedef int clp_nothing;])],
      [AC_MSG_RESULT([yes])
       LTO_CFLAGS=-ffat-lto-objects
       WRAP_LDFLAGS=-fno-lto],
      [AC_MSG_RESULT([no])])
    CFLAGS=$clp_saved_CFLAGS])
  AC_SUBST([LTO_CFLAGS])
  AC_SUBST([WRAP_LDFLAGS])
])

# The library names all that it needs, so that a function that nobody wrote fails its link. Runtimes
# of sanitizers come with the program only.
AC_DEFUN([CLP_NO_UNDEFINED], [
  AS_IF([test "x$clp_sanitizer$clp_fuzzing" = xnono], [NO_UNDEFINED_LDFLAGS="-Wl,-z,defs"])
  AC_SUBST([NO_UNDEFINED_LDFLAGS])
])

# Tests take longer to compile than to run, so they have flags of their own. -g1 keeps functions and
# lines, which tests of stacks read and sanitizers print. _FORTIFY_SOURCE warns without optimization.
AC_DEFUN([CLP_TESTS_CFLAGS], [
  AC_ARG_VAR([TESTS_CFLAGS],
    [flags to compile tests with, after CFLAGS; by default -O0 -g1 -U_FORTIFY_SOURCE])
  AS_IF([test -z "${TESTS_CFLAGS+set}"], [TESTS_CFLAGS="-O0 -g1 -U_FORTIFY_SOURCE"])
])

# Tests are linked with the fastest linker that knows --wrap and finds the libraries which they need:
# 180 programs are many. LDFLAGS that name a linker are left alone. Only GNU ld and gold know the
# objects of GCC's -flto.
AC_DEFUN([CLP_TESTS_LINKER], [
  AC_ARG_VAR([TESTS_LDFLAGS],
    [flags to link tests with, after LDFLAGS; by default a fast linker, -fuse-ld=lld or gold])
  AS_CASE(["${TESTS_LDFLAGS+set}: $CC $CFLAGS $LDFLAGS "],
    [set:*], [],
    [*" -fuse-ld="*|*" -flto"*], [],
    [for clp_linker in lld gold; do
       clp_found=yes
       clp_saved_LDFLAGS=$LDFLAGS
       clp_saved_LIBS=$LIBS
       LIBS="$CHECK_LIBS $OPENCL_LIBS $LIBDW_LIBS $ZLIB_LIBS $LIBS"
       LDFLAGS="$LDFLAGS $SANITIZER_LDFLAGS $COVERAGE_LDFLAGS $FUZZING_LDFLAGS -Wl,--wrap=clp_missing"
       CLP_LINK_WITH([-fuse-ld=$clp_linker],
         [AC_LANG_PROGRAM([int clp_missing(void); int __wrap_clp_missing(void);
                           int __wrap_clp_missing(void) { return 0; }], [return clp_missing();])],
         [clp_found=no])
       LDFLAGS=$clp_saved_LDFLAGS
       LIBS=$clp_saved_LIBS
       AS_IF([test $clp_found = yes], [TESTS_LDFLAGS=-fuse-ld=$clp_linker; break])
     done])
])

# --enable-coverage: gcov's counters, and "make check-coverage", a table of lines covered by file.
AC_DEFUN([CLP_SWITCH_COVERAGE], [
  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage], [count executed lines: make check-coverage])],
    [clp_coverage=$enableval], [clp_coverage=no])
  AS_IF([test "x$clp_coverage" = xyes], [
    AC_CHECK_TOOL([GCOV], [gcov])
    AS_IF([test -z "$GCOV"], [AC_MSG_ERROR([--enable-coverage needs gcov])])
    CLP_LINK_WITH([--coverage], [AC_LANG_PROGRAM([], [])],
      [AC_MSG_ERROR([$CC cannot build with --coverage])])
    COVERAGE_CFLAGS="--coverage -fprofile-update=atomic -fno-builtin-fork -DCLPT_COVERAGE"
    COVERAGE_LDFLAGS=--coverage])
  AC_SUBST([COVERAGE_CFLAGS])
  AC_SUBST([COVERAGE_LDFLAGS])
  AM_CONDITIONAL([COVERAGE], [test "x$clp_coverage" = xyes])
])

# --enable-fuzzing: the fuzz targets as libFuzzer programs (needs clang). The rest is instrumented
# too, with the sanitizers that turn a bug into a crash.
AC_DEFUN([CLP_SWITCH_FUZZING], [
  AC_ARG_ENABLE([fuzzing],
    [AS_HELP_STRING([--enable-fuzzing], [build the fuzz targets with libFuzzer (CC=clang)])],
    [clp_fuzzing=$enableval], [clp_fuzzing=no])
  AS_IF([test "x$clp_fuzzing" = xyes], [
    AS_IF([test "x$clp_sanitizer" != xno],
      [AC_MSG_ERROR([--enable-fuzzing brings its own sanitizers: omit --enable-sanitizer])])
    CLP_LINK_WITH([-fsanitize=fuzzer,address,undefined],
      [AC_LANG_SOURCE([int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);
                       int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n)
                       { (void)d; (void)n; return 0; }])],
      [AC_MSG_ERROR([--enable-fuzzing needs libFuzzer: configure with CC=clang])])
    FUZZING_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g"
    FUZZING_LDFLAGS="-fsanitize=fuzzer-no-link,address,undefined"
    FUZZER_LDFLAGS="-fsanitize=fuzzer,address,undefined"])
  AC_SUBST([FUZZING_CFLAGS])
  AC_SUBST([FUZZING_LDFLAGS])
  AC_SUBST([FUZZER_LDFLAGS])
  AM_CONDITIONAL([FUZZING], [test "x$clp_fuzzing" = xyes])
])

# --enable-valgrind: make check-valgrind. On by default where valgrind is; "yes" insists on it.
AC_DEFUN([CLP_SWITCH_VALGRIND], [
  AC_ARG_ENABLE([valgrind],
    [AS_HELP_STRING([--enable-valgrind], [run the tests under valgrind: make check-valgrind])],
    [clp_valgrind=$enableval], [clp_valgrind=auto])
  AS_IF([test "x$clp_valgrind" != xno], [
    AC_CHECK_PROG([VALGRIND], [valgrind], [valgrind])
    AS_IF([test -n "$VALGRIND"], [clp_valgrind=yes],
      [test "x$clp_valgrind" = xyes], [AC_MSG_ERROR([--enable-valgrind needs valgrind])],
      [clp_valgrind=no])])
  AS_IF([test "x$clp_valgrind$clp_sanitizer$clp_fuzzing" != "x${clp_valgrind}nono"],
    [clp_valgrind=no])
  AM_CONDITIONAL([VALGRIND], [test "x$clp_valgrind" = xyes])
])
