/* SPDX-License-Identifier: MIT */
/* One program for each check: what it prints is the same with a layer and without. Its first
 * argument says what it does; 77: there is no OpenCL device that it can do that on. */
#include "program.h"

#include "support/opencl_devices.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 5000, THREADS = 4, MIB = 1 << 20 };

cl_device_id device;
static cl_context context;

void succeeded(const char *call, cl_int code)
{
  if (code)
    printf("%s: %d\n", call, code);
  require(!code);
}

cl_context open_context(void)
{
  cl_int code;
  cl_context opened = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  succeeded("clCreateContext", code);
  return opened;
}

cl_command_queue open_queue(cl_context of, cl_command_queue_properties wanted)
{
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, wanted, 0};
  cl_int code;
  cl_command_queue opened = clCreateCommandQueueWithProperties(of, device, properties, &code);
  succeeded("clCreateCommandQueueWithProperties", code);
  return opened;
}

void run_threads(size_t count, void *(*act)(void *number))
{
  pthread_t each[MOST_THREADS];
  for (size_t i = 0; i < count; i++)
    require(!pthread_create(&each[i], NULL, act, (void *)i));
  for (size_t i = 0; i < count; i++)
    require(!pthread_join(each[i], NULL));
}

static cl_mem make(size_t bytes)
{
  cl_int code;
  cl_mem made = clCreateBuffer(context, 0, bytes, NULL, &code);
  succeeded("clCreateBuffer", code);
  return made;
}

static void release(cl_mem mem)
{
  succeeded("clReleaseMemObject", clReleaseMemObject(mem));
}

/* --- threads and ends --- */

static void *make_pairs(void *number)
{
  for (unsigned i = 0; i < PAIRS; i++) {
    cl_mem mem = make(1000 * ((size_t)number + 1) + i % 8);
    succeeded("clRetainMemObject", clRetainMemObject(mem));
    release(mem);
    release(mem);
  }
  return NULL;
}

static void threads(void)
{
  run_threads(THREADS, make_pairs);
}

static void killed(void)
{
  make_pairs(NULL);
  kill(getpid(), SIGKILL);
}

static void exits(void)
{
  release(make(10));
  exit(7);
}

/* A child that is a copy, and one that is a program of its own. */
static void children(void)
{
  int status;
  cl_mem mem = make(500);
  if (fork() == 0) {
    clRetainMemObject(mem);
    clReleaseMemObject(mem);
    _exit(3);
  }
  require(wait(&status) > 0 && WEXITSTATUS(status) == 3);
  if (fork() == 0) {
    execl("/proc/self/exe", "program", "phases", (char *)NULL);
  }
  require(wait(&status) > 0 && status == 0);
  release(mem);
}

/* --- sizes, of which clpool tune says what clpool run would take for them --- */

static clpt_chance chance;

static size_t below(size_t bound)
{
  return clpt_chance_below(&chance, bound);
}

/* In one context, sizes that are others in each phase, and larger ones that come again, sometimes
 * with contents; in another, which has pools of its own, sizes that grow. */
static cl_mem make_in_phases(cl_context in, unsigned step)
{
  static char host[256 * 1024];
  const cl_mem_flags flags = below(3) ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
  const bool is_large = step % 8 == 0, has_host = !is_large && below(16) == 0;
  const size_t bytes = 1000 + step / 1000 * 30001 + below(1000);
  if (step % 8 == 1)
    return clCreateBuffer(in, flags, 1000 + (size_t)step * step / 16, NULL, NULL);
  return clCreateBuffer(context, flags | (has_host ? CL_MEM_COPY_HOST_PTR : 0),
                        is_large ? MIB + step * 7919 % 16 * 65537 : bytes, has_host ? host : NULL,
                        NULL);
}

/* Images and buffers of a few sizes, with flags of all sorts. */
static cl_mem make_of_kinds(cl_context in, unsigned step)
{
  static const cl_mem_flags host[] = {0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY,
                                      CL_MEM_HOST_NO_ACCESS, CL_MEM_ALLOC_HOST_PTR};
  static const cl_mem_flags kernels[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = 16 + 16 * below(16),
                              .image_height = 16 + 64 * below(4)};
  if (step % 2)
    return clCreateBuffer(in, host[below(5)] | kernels[below(4)], 4096 * (1 + below(20)), NULL,
                          NULL);
  cl_mem made = clCreateImage(in, kernels[below(2) + 1], &format, &desc, NULL, NULL);
  if (!made)
    exit(SKIPPED);
  return made;
}

/* Sizes in phases grow as a stack, and are released from its end. */
static void sizes(cl_mem (*make_one)(cl_context in, unsigned step))
{
  enum { LIVE = 100, STEPS = 3000 };
  cl_mem live[LIVE] = {NULL};
  cl_context other = make_one == make_in_phases ? open_context() : context;
  chance = clpt_chance_seed(1);
  for (unsigned step = 0; step < STEPS; step++) {
    const size_t place = step % (2 * LIVE), top = place < LIVE ? place : 2 * LIVE - 1 - place;
    cl_mem *one = &live[make_one == make_in_phases ? top : below(LIVE)];
    if (*one)
      release(*one);
    *one = *one ? NULL : make_one(other, step);
  }
  for (size_t i = 0; i < LIVE; i++)
    if (live[i])
      release(live[i]);
  require(other == context || !clReleaseContext(other));
}

static void phases(void)
{
  sizes(make_in_phases);
}

static void kinds(void)
{
  sizes(make_of_kinds);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } works[] = {{"threads", threads},   {"killed", killed}, {"exits", exits},
               {"children", children}, {"phases", phases}, {"kinds", kinds}};
  if (argc < 2 || clpt_find_devices(1, &device) == 0)
    return SKIPPED;
  if (argc > 4)
    random_calls((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), (size_t)atoi(argv[4]));
  context = open_context();
  for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
    if (strcmp(argv[1], works[i].name) == 0)
      works[i].run();
  succeeded("clReleaseContext", clReleaseContext(context));
  return EXIT_SUCCESS;
}
