# SPDX-License-Identifier: MIT
# The libraries that clpool builds on. Each is looked for by header and function, so that a machine
# without pkg-config or its .pc files serves as well.

# OpenCL's headers, and the loader, which the library loads at run time: the program, the examples
# and the tests link it. --without-opencl builds the rest alone.
AC_DEFUN([CLP_WITH_OPENCL], [
  AC_ARG_WITH([opencl],
    [AS_HELP_STRING([--without-opencl], [build without the OpenCL allocators])],
    [], [with_opencl=yes])
  clp_opencl=no
  AS_IF([test "x$with_opencl" != xno], [
    AC_CHECK_HEADER([CL/cl.h], [],
      [AC_MSG_ERROR([CL/cl.h is missing (Debian: opencl-headers); or configure --without-opencl])],
      [#define CL_TARGET_OPENCL_VERSION 300])
    clp_saved_LIBS=$LIBS
    AC_SEARCH_LIBS([clGetPlatformIDs], [OpenCL], [],
      [AC_MSG_ERROR([libOpenCL is missing (Debian: ocl-icd-opencl-dev); or configure --without-opencl])])
    AS_IF([test "x$ac_cv_search_clGetPlatformIDs" != "xnone required"],
      [OPENCL_LIBS=$ac_cv_search_clGetPlatformIDs])
    LIBS=$clp_saved_LIBS
    OPENCL_CFLAGS=-DCL_TARGET_OPENCL_VERSION=300
    AC_DEFINE([HAVE_OPENCL], [1], [Define to 1 to build the OpenCL allocators.])
    clp_opencl=yes])
  AC_SUBST([OPENCL_CFLAGS])
  AC_SUBST([OPENCL_LIBS])
  AM_CONDITIONAL([HAVE_OPENCL], [test "x$clp_opencl" = xyes])
])

# What layers of the OpenCL loader are declared by; they are left out without it. Programs whose loader
# has no layers get OPENCL_LOADER, by an auditor of glibc's dynamic linker: it is looked for where the
# linker looks.
AC_DEFUN([CLP_CHECK_LAYER], [
  clp_layer=no
  AS_IF([test "x$clp_opencl" = xyes], [
    AC_CHECK_HEADER([CL/cl_layer.h],
      [AC_DEFINE([HAVE_LAYER], [1], [Define to 1 if layers of the OpenCL loader are built.])
       clp_layer=yes], [], [#define CL_TARGET_OPENCL_VERSION 300])])
  AM_CONDITIONAL([LAYER], [test "x$clp_layer" = xyes])
  clp_auditor=no
  AS_IF([test "x$clp_layer" = xyes], [
    AC_CHECK_DECL([LAV_CURRENT], [clp_auditor=yes], [], [#include <link.h>])
    OPENCL_LOADER=`$CC -print-file-name=libOpenCL.so.1`
    for clp_flag in $LDFLAGS; do
      AS_CASE([$clp_flag], [-L*], [clp_file=${clp_flag#-L}/libOpenCL.so.1
        AS_IF([test -e "$clp_file"], [OPENCL_LOADER=$clp_file; break])])
    done
    AS_CASE([$OPENCL_LOADER], [*/*],
      [OPENCL_LOADER=`cd "$(dirname "$OPENCL_LOADER")" && pwd -P`/libOpenCL.so.1])])
  AC_SUBST([OPENCL_LOADER])
  AM_CONDITIONAL([AUDITOR], [test "x$clp_auditor" = xyes])
])

# libdw, which names the lines of a line profile; without it they are objects and offsets.
AC_DEFUN([CLP_WITH_LIBDW], [
  AC_ARG_WITH([libdw],
    [AS_HELP_STRING([--without-libdw],
      [do not name the lines of a line profile (default: name them if libdw is found)])],
    [], [with_libdw=auto])
  clp_libdw=no
  AS_IF([test "x$with_libdw" != xno], [
    clp_saved_LIBS=$LIBS
    AC_CHECK_HEADER([elfutils/libdwfl.h],
      [AC_SEARCH_LIBS([dwarf_get_units], [dw], [clp_libdw=yes])])
    LIBS=$clp_saved_LIBS
    AS_IF([test "x$clp_libdw" = xyes], [
      AS_IF([test "x$ac_cv_search_dwarf_get_units" != "xnone required"],
        [LIBDW_LIBS=$ac_cv_search_dwarf_get_units])
      AC_DEFINE([HAVE_LIBDW], [1], [Define to 1 to name the lines of line profiles.])],
      [test "x$with_libdw" = xyes],
      [AC_MSG_ERROR([libdw is missing (Debian: libdw-dev); or configure --without-libdw])])])
  AC_SUBST([LIBDW_LIBS])
  AM_CONDITIONAL([HAVE_LIBDW], [test "x$clp_libdw" = xyes])
])

# The program clpool, and zlib, with which it reads gzipped traces; --disable-tool builds the library
# alone.
AC_DEFUN([CLP_SWITCH_TOOL], [
  AC_ARG_ENABLE([tool],
    [AS_HELP_STRING([--disable-tool], [do not build the program clpool, which needs zlib])],
    [clp_tool=$enableval], [clp_tool=yes])
  AS_IF([test "x$clp_tool" != xno], [
    clp_saved_LIBS=$LIBS
    AC_CHECK_HEADER([zlib.h], [],
      [AC_MSG_ERROR([zlib.h is missing (Debian: zlib1g-dev); or configure --disable-tool])])
    AC_SEARCH_LIBS([gzbuffer], [z], [],
      [AC_MSG_ERROR([zlib is missing (Debian: zlib1g-dev); or configure --disable-tool])])
    ZLIB_LIBS=$ac_cv_search_gzbuffer
    LIBS=$clp_saved_LIBS])
  AC_SUBST([ZLIB_LIBS])
  AM_CONDITIONAL([TOOL], [test "x$clp_tool" != xno])
])

# CLBlast, a library that people use, which one example is about.
AC_DEFUN([CLP_CHECK_CLBLAST], [
  clp_clblast=no
  AS_IF([test "x$clp_opencl" = xyes], [
    clp_saved_LIBS=$LIBS
    AC_CHECK_HEADER([clblast_c.h],
      [AC_SEARCH_LIBS([CLBlastSgemmWithTempBuffer], [clblast],
        [CLBLAST_LIBS=$ac_cv_search_CLBlastSgemmWithTempBuffer
         clp_clblast=yes], [], [$OPENCL_LIBS])],
      [], [#define CL_TARGET_OPENCL_VERSION 120])
    LIBS=$clp_saved_LIBS])
  AC_SUBST([CLBLAST_LIBS])
  AM_CONDITIONAL([HAVE_CLBLAST], [test "x$clp_clblast" = xyes])
])

# A C++ compiler that links, and OpenCL's C++ header: only clpool.hpp's tests, example and
# benchmark use them.
AC_DEFUN([CLP_CHECK_CXX], [
  AC_MSG_CHECKING([whether $CXX works])
  AC_LANG_PUSH([C++])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [clp_cxx=yes], [clp_cxx=no])
  AC_MSG_RESULT([$clp_cxx])
  clp_opencl_hpp=no
  AS_IF([test "x$clp_cxx$clp_opencl" = xyesyes],
    [AC_CHECK_HEADER([CL/opencl.hpp], [clp_opencl_hpp=yes], [],
      [#define CL_HPP_TARGET_OPENCL_VERSION 120
       #define CL_HPP_MINIMUM_OPENCL_VERSION 120])])
  AC_LANG_POP([C++])
  AM_CONDITIONAL([HAVE_CXX], [test "x$clp_cxx" = xyes])
  AM_CONDITIONAL([HAVE_OPENCL_HPP], [test "x$clp_opencl_hpp" = xyes])
])

# Check, the unit test framework. Its link line differs: with libsubunit's development package,
# with only its run-time library, or built without it.
AC_DEFUN([CLP_CHECK_CHECK], [
  clp_check=no
  AC_CHECK_HEADER([check.h], [
    clp_saved_LIBS=$LIBS
    for clp_lib in check_pic check; do
      for clp_subunit in "-lsubunit" "-l:libsubunit.so.0" ""; do
        AS_IF([test "x$clp_check" = xno], [
          LIBS="-l$clp_lib $clp_subunit -lrt -lm -pthread $clp_saved_LIBS"
          AC_LINK_IFELSE(
            [AC_LANG_PROGRAM([[#include <check.h>]], [[srunner_create(suite_create("s"));]])],
            [clp_check=yes
             CHECK_LIBS="-l$clp_lib $clp_subunit -lrt -lm -pthread"])])
      done
    done
    LIBS=$clp_saved_LIBS])
  AC_SUBST([CHECK_LIBS])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$clp_check" = xyes])
])
