/* SPDX-License-Identifier: MIT */
#include "layers.h"

#include "allocators.h"
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void clpi_layers_set_variable(const char *variable, const char *value)
{
  if (setenv(variable, value, 1))
    exit(clpi_misuse("no host memory to set %s", variable));
}

/* Puts a file's name before those of a list, with a colon between them. */
static void put_before(const char *variable, const char *file)
{
  const char *others = getenv(variable);
  bool has_others = others && *others;
  char *list;
  if (asprintf(&list, "%s%s%s", file, has_others ? ":" : "", has_others ? others : "") < 0)
    exit(clpi_misuse("no host memory to set %s", variable));
  clpi_layers_set_variable(variable, list);
  free(list);
}

/* --- the layer --- */

/* Opens it as the OpenCL loader does, which says nothing where that fails. */
static int check_layer(const char *library, const char *advice)
{
  if (strchr(library, ':'))
    return clpi_misuse("the layer's path must not contain a colon: %s", library);
  void *layer = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!layer)
    return clpi_misuse("cannot load the layer: %s%s", dlerror(), advice);
  bool is_layer = dlsym(layer, "clGetLayerInfo") && dlsym(layer, "clInitLayer");
  dlclose(layer);
  return is_layer ? CLPI_EXIT_SUCCESS : clpi_misuse("%s is not an OpenCL layer", library);
}

/* --- the loader --- */

static bool has_layers(const char *loader)
{
  enum { MOST_BYTES = 16 << 20 }; /* of a loader, at most; a driver may be named as one */
  struct stat found;
  if (stat(loader, &found) || !S_ISREG(found.st_mode) || found.st_size > MOST_BYTES)
    return false;
  FILE *file = fopen(loader, "re");
  char *text = NULL;
  size_t room = 0;
  bool has = false;
  while (file && !has && getdelim(&text, &room, '\0', file) > 0)
    has = strstr(text, "OPENCL_LAYERS");
  free(text);
  if (file)
    fclose(file);
  return has;
}

/* The loader for programs whose own has no layers, and the auditor beside the layer that gives it
 * to them. Without either, programs keep their own. The program may change its working directory.
 * Under an auditor, glibc has less room for libraries' thread-local variables: jemalloc's need
 * more. */
static void set_loader(const char *library)
{
  const char *named = secure_getenv("CLPOOL_LOADER");
  const int folder = (int)(strrchr(library, '/') - library);
  char file[PATH_MAX], path[PATH_MAX];
  snprintf(file, sizeof(file), "%.*s/libOpenCL.so.1", folder, library);
  const char *found = named ? named : access(file, F_OK) ? CLPI_LOADER : file;
  const bool is_of_use = has_layers(found);
  clpi_layers_set_variable("CLPOOL_LOADER", realpath(found, path) ? path : found);
  snprintf(file, sizeof(file), "%.*s/libclpool-audit.so", folder, library);
  if (!is_of_use || !realpath(file, path) || strchr(path, ':'))
    return;
  put_before("LD_AUDIT", path);
  put_before("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=4096");
}

int clpi_layers_set(const char *file)
{
  if (!CLPI_HAS_LAYER)
    return clpi_misuse("this clpool was built without layers of OpenCL's loader");
  char installed[PATH_MAX], path[PATH_MAX];
  snprintf(installed, sizeof(installed), "%s/%s", CLPI_LAYER_FOLDER, file);
  const char *named = secure_getenv("CLPOOL_LAYER_LIBRARY");
  const char *library = named ? named : installed;
  /* The program may change its working directory. */
  const char *whole = strchr(library, '/') && realpath(library, path) ? path : library;
  int code = check_layer(whole, named ? "" : " ('make install' installs it)");
  if (code)
    return code;
  put_before("OPENCL_LAYERS", whole);
  set_loader(strchr(library, '/') ? library : installed);
  return CLPI_EXIT_SUCCESS;
}

/* --- the program --- */

/* What a terminal sends reaches the child by itself, so we only outlive it; what is sent to us
 * alone is passed on. */
enum { NOT_FOUND = 127, NOT_RUN = 126 };

static volatile sig_atomic_t child; /* 0: none */

static void pass_on(int number)
{
  int code = errno;
  if (child > 0)
    (void)kill((pid_t)child, number);
  errno = code;
}

/* Sets an action where the signal is not ignored already, as under nohup; whether it was not. */
static bool set_action(int number, void (*action)(int))
{
  struct sigaction before;
  const struct sigaction wanted = {.sa_handler = action}; /* no restart: waitpid is interrupted */
  if (sigaction(number, NULL, &before) || before.sa_handler == SIG_IGN)
    return false;
  return sigaction(number, &wanted, NULL) == 0;
}

static int spawn(char **argv, const sigset_t *ignored, const sigset_t *mask, pid_t *process)
{
  posix_spawnattr_t attributes;
  int code = posix_spawnattr_init(&attributes);
  if (code)
    return code;
  (void)posix_spawnattr_setsigdefault(&attributes, ignored);
  (void)posix_spawnattr_setsigmask(&attributes, mask);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  code = posix_spawnp(process, argv[0], NULL, &attributes, argv, environ);
  (void)posix_spawnattr_destroy(&attributes);
  return code;
}

/* Runs argv[0], looked for as a shell does, and waits for its end. An exit code of ours after a
 * complaint if it cannot be run: 127 if there is none, else 126, as shells have it. `*status` is
 * how it ended. */
static int run_child(char **argv, int *status)
{
  static const int both_get[] = {SIGINT, SIGQUIT}, for_us[] = {SIGTERM, SIGHUP};
  sigset_t held, before, ignored;
  pid_t process = 0;
  sigemptyset(&ignored);
  sigemptyset(&held);
  for (size_t i = 0; i < 2; i++) {
    sigaddset(&held, for_us[i]);
    if (set_action(both_get[i], SIG_IGN))
      sigaddset(&ignored, both_get[i]);
  }
  sigprocmask(SIG_BLOCK, &held, &before); /* until it is known whom to pass them on to */
  for (size_t i = 0; i < 2; i++)
    (void)set_action(for_us[i], pass_on);
  int code = spawn(argv, &ignored, &before, &process);
  child = code ? 0 : process;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (code) {
    clpi_complain("cannot run %s: %s", argv[0], strerror(code));
    return code == ENOENT ? NOT_FOUND : NOT_RUN;
  }
  while (waitpid(process, status, 0) < 0 && errno == EINTR)
    ;
  child = 0;
  return CLPI_EXIT_SUCCESS;
}

/* The exit code of a child that ended with `status`, as waitpid has it. If a signal ended the
 * child, the same signal ends this process. */
static int end_likewise(int status)
{
  const struct rlimit no_core = {0, 0};
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  int number = WTERMSIG(status);
  (void)setrlimit(RLIMIT_CORE, &no_core); /* the child's is the one of interest */
  (void)signal(number, SIG_DFL);
  (void)raise(number);
  return 128 + number;
}

/* --- whether the layer was of use --- */

/* Names a file that the layer removes when it is of use (layer/dispatch.c); "" without one. */
static void set_unused(char path[PATH_MAX])
{
  const char *named = secure_getenv("TMPDIR");
  const char *folder = named && *named == '/' ? named : P_tmpdir;
  snprintf(path, PATH_MAX, "%s/clpool-XXXXXX", folder);
  int file = mkstemp(path);
  if (file >= 0) {
    close(file);
    clpi_layers_set_variable("CLPOOL_LAYER_UNUSED", path);
    return;
  }
  clpi_complain("cannot create a temporary file in %s (TMPDIR), to see whether OpenCL is used: %s",
                folder, strerror(errno));
  *path = '\0';
}

static void tell_why_unused(const char *program, const char *loss)
{
  const char *loader = getenv("CLPOOL_LOADER");
  clpi_devices found = {0};
  (void)unsetenv("OPENCL_LAYERS"); /* this process needs none */
  clpi_list_opencl(&found);
  if (found.platform_count == 0)
    clpi_complain("there is no OpenCL driver (see clpool info): %s", loss);
  else if (!*loader || has_layers(loader))
    clpi_complain("%s did not use OpenCL, or its loader cannot be replaced: %s", program, loss);
  else
    clpi_complain("%s did not use OpenCL, or its loader cannot be replaced: %s. %s %s: install "
                  "ocl-icd-libopencl1 (2.3 or later)",
                  program, loss, loader, access(loader, F_OK) ? "is missing" : "has no layers");
}

int clpi_layers_run(char **program, const char *loss, int error_exit)
{
  const char *outer = secure_getenv("CLPOOL_LAYER_UNUSED"); /* of a clpool that runs this one */
  char unused[PATH_MAX], errors[PATH_MAX + 8];
  set_unused(unused);
  snprintf(errors, sizeof(errors), "%s-errors", unused);
  if (error_exit > 0 && !*unused)
    return CLPI_EXIT_FAILED; /* errors would not be seen */
  if (error_exit > 0)
    clpi_layers_set_variable("CLPOOL_LAYER_ERRORS", errors);
  int status, code = run_child(program, &status);
  struct stat found;
  bool is_used = stat(unused, &found) != 0;
  if (is_used && *unused && outer)
    (void)unlink(outer);
  if (!code && !is_used && found.st_size > 0)
    clpi_complain("%s allocated nothing with OpenCL: %s", program[0], loss);
  else if (!code && !is_used)
    tell_why_unused(program[0], loss);
  (void)unlink(unused);
  bool has_errors = error_exit > 0 && unlink(errors) == 0;
  code = code ? code : end_likewise(status);
  return code || !has_errors ? code : error_exit;
}
