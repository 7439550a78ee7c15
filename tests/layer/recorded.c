/* SPDX-License-Identifier: MIT */
/* A program for the checks of the layers, which knows nothing of clpool. It prints the rows that
 * its calls should come to, "ACTION SIZE CONTEXT KIND FLAGS", and what is in its memory: the same
 * with a layer and without. Its argument says what it does; 77: there is no OpenCL device that it
 * can do that on. */
#include "support/chance.h"
#include "support/instrumented.h"
#include "support/opencl_devices.h"

#include <CL/cl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, WORDS = 1024, BYTES = 4 * WORDS, PAIRS = 5000, THREADS = 4 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static unsigned contexts; /* made so far: the number of the latest */

#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: %s is false\n", __LINE__, #condition);                                      \
      exit(EXIT_FAILURE);                                                                          \
    }                                                                                              \
  } while (0)

static void expect_of(const char *kind, cl_ulong flags, const char *action, size_t bytes)
{
  printf("%s %zu %u %s 0x%llx\n", action, bytes, contexts, kind, (unsigned long long)flags);
}

/* Of a buffer as buffer_of() makes it. */
static void expect(const char *action, size_t bytes)
{
  expect_of("buffer", CL_MEM_READ_WRITE, action, bytes);
}

static void open_context(void)
{
  cl_int code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  require(!code);
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  require(!code);
  contexts++;
}

static void close_context(void)
{
  require(!clReleaseCommandQueue(queue));
  require(!clReleaseContext(context));
}

static void open_device(void)
{
  if (clpt_find_devices(1, &device) == 0)
    exit(SKIPPED);
  open_context();
}

static cl_mem buffer_of(size_t bytes)
{
  cl_int code;
  cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  require(mem && !code);
  expect("allocate", bytes);
  return mem;
}

static void release(cl_mem mem)
{
  require(!clReleaseMemObject(mem));
}

/* --- one thread --- */

static void share_and_part(void)
{
  cl_uint words[WORDS], read[WORDS] = {0};
  cl_buffer_region half = {BYTES / 2, BYTES / 2};
  cl_mem whole = buffer_of(BYTES);
  cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
  for (cl_uint i = 0; i < WORDS; i++)
    words[i] = i * 2654435761u;
  require(part && !clRetainMemObject(whole) && !clRetainMemObject(part));
  require(!clEnqueueWriteBuffer(queue, whole, CL_TRUE, 0, BYTES, words, 0, NULL, NULL));
  release(whole);
  release(whole);
  release(part);
  cl_mem between = buffer_of(8);
  expect("free", 8);
  release(between); /* and the whole is not free yet */
  require(!clEnqueueReadBuffer(queue, part, CL_TRUE, 0, BYTES / 2, read, 0, NULL, NULL));
  require(memcmp(read, words + WORDS / 2, BYTES / 2) == 0);
  printf("read %u\n", read[7]);
  expect("free", BYTES);
  release(part);
}

static void ways_of_making(void)
{
  static char own[BYTES];
  cl_int code;
  cl_mem copy = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, own, NULL);
  require(copy);
  expect_of("buffer", CL_MEM_COPY_HOST_PTR, "allocate", BYTES);
  cl_mem used = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, BYTES, own, &code); /* no row */
  require(used && !code);
  cl_mem with = clCreateBufferWithProperties(context, NULL, CL_MEM_READ_ONLY, 300, NULL, &code);
  require(with && !code);
  expect_of("buffer", CL_MEM_READ_ONLY, "allocate", 300);
  release(used);
  expect_of("buffer", CL_MEM_COPY_HOST_PTR, "free", BYTES);
  release(copy);
  expect_of("buffer", CL_MEM_READ_ONLY, "free", 300);
  release(with);
}

static void what_fails(void)
{
  size_t most = (size_t)1 << 62;
  cl_int code = CL_SUCCESS;
  cl_mem lazy = clCreateBuffer(context, 0, most, NULL, &code); /* NVIDIA's driver has no bound */
  printf("code %d\n", code);
  expect_of("buffer", 0, lazy ? "allocate" : "allocate failure", most);
  if (lazy) {
    release(lazy);
    expect_of("buffer", 0, "free", most);
  }
  require(!clCreateBuffer(context, 0, 0, NULL, &code)); /* wrong, not refused */
  printf("code %d\n", code);
  require(!clCreateBuffer(NULL, 0, 100, NULL, NULL));
  printf("code %d\n", clRetainMemObject(NULL));
  printf("code %d\n", clReleaseMemObject(NULL));
}

static void images(void)
{
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
  size_t bytes;
  cl_int code;
  cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
  printf("image %d\n", code);
  if (!image)
    return;
  require(!clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL));
  expect_of("image", CL_MEM_READ_WRITE, "allocate", bytes);
  expect_of("image", CL_MEM_READ_WRITE, "free", bytes);
  release(image);
  cl_mem buffer = buffer_of(BYTES);
  desc = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = WORDS};
  desc.buffer = buffer;
  image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
  printf("image of a buffer %d\n", code);
  if (image)
    release(image);
  expect("free", BYTES);
  release(buffer);
}

static atomic_bool is_freed;

static void CL_CALLBACK free_svm(cl_command_queue of, cl_uint count, void *pointers[], void *data)
{
  (void)of, (void)data;
  for (cl_uint i = 0; i < count; i++)
    clSVMFree(context, pointers[i]);
  is_freed = true;
}

static void *svm_of(size_t bytes)
{
  void *pointer = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
  require(pointer);
  expect_of("svm", CL_MEM_READ_WRITE, "allocate", bytes);
  return pointer;
}

static void shared_virtual_memory(void)
{
  cl_device_svm_capabilities svm = 0;
  (void)clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
  if (!svm)
    return;
  void *first = svm_of(100), *second = svm_of(200), *third = svm_of(300);
  expect_of("svm", CL_MEM_READ_WRITE, "free", 100);
  clSVMFree(context, first);
  clSVMFree(context, NULL);
  expect_of("svm", CL_MEM_READ_WRITE, "free", 200);
  require(!clEnqueueSVMFree(queue, 1, &second, NULL, NULL, 0, NULL, NULL));
  require(!clFinish(queue));
  cl_event stop = clCreateUserEvent(context, NULL);
  require(stop && !clEnqueueSVMFree(queue, 1, &third, free_svm, NULL, 1, &stop, NULL));
  first = svm_of(400); /* the third is not free yet */
  expect_of("svm", CL_MEM_READ_WRITE, "free", 300);
  require(!clSetUserEventStatus(stop, CL_COMPLETE) && !clReleaseEvent(stop) && !clFinish(queue));
  while (!is_freed)
    sched_yield();
  expect_of("svm", CL_MEM_READ_WRITE, "free", 400);
  clSVMFree(context, first);
}

/* Contexts one after the other have numbers of their own, though their handles may be the same. */
static void all_kinds(void)
{
  share_and_part();
  ways_of_making();
  what_fails();
  images();
  shared_virtual_memory();
  for (int i = 0; i < 3; i++) {
    close_context();
    open_context();
    cl_mem mem = buffer_of(1000);
    expect("free", 1000);
    release(mem);
  }
}

/* --- more --- */

static void *make_pairs(void *number)
{
  for (unsigned i = 0; i < PAIRS; i++) {
    cl_mem mem = clCreateBuffer(context, 0, 1000 * ((size_t)number + 1) + i % 8, NULL, NULL);
    require(mem && !clRetainMemObject(mem));
    release(mem);
    release(mem);
  }
  return NULL;
}

/* --- buffers that threads pass on to each other, without waiting --- */

enum { SHARES = 400, PLACES = 8 };

typedef struct item {
  cl_mem mem; /* NULL: none */
  cl_event written;
  cl_uint value; /* of all words */
} item;

static cl_command_queue ways[THREADS]; /* one of them is shared, or each has its own */
static item places[PLACES];
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static item filled(cl_command_queue on, cl_uint value)
{
  item made = {.mem = clCreateBuffer(context, 0, BYTES, NULL, NULL), .value = value};
  require(made.mem && !clEnqueueFillBuffer(on, made.mem, &value, sizeof(value), 0, BYTES, 0, NULL,
                                           &made.written));
  require(!clFlush(on));
  return made;
}

static void drop(const item *it)
{
  release(it->mem);
  require(!clReleaseEvent(it->written));
}

/* The source goes while it is read. */
static item copied(cl_command_queue on, const item *from)
{
  item made = filled(on, 0);
  const cl_event list[] = {from->written, made.written};
  require(!clEnqueueCopyBuffer(on, from->mem, made.mem, 0, 0, BYTES, 2, list, &made.written));
  require(!clFlush(on) && !clReleaseEvent(list[1]));
  made.value = from->value;
  drop(from);
  return made;
}

static void check(cl_command_queue on, const item *it)
{
  cl_uint words[WORDS];
  require(!clEnqueueReadBuffer(on, it->mem, CL_TRUE, 0, BYTES, words, 1, &it->written, NULL));
  for (size_t i = 0; i < WORDS; i++)
    require(words[i] == it->value);
}

static void *pass_on(void *number)
{
  clpt_chance chance = clpt_chance_seed((unsigned)(size_t)number + 1);
  cl_command_queue on = ways[(size_t)number];
  for (int i = 0; i < SHARES; i++) {
    item *place = &places[clpt_chance_below(&chance, PLACES)];
    item left = filled(on, (cl_uint)clpt_chance_next(&chance));
    pthread_mutex_lock(&places_lock);
    item found = *place;
    *place = left;
    pthread_mutex_unlock(&places_lock);
    if (!found.mem)
      continue;
    if (clpt_chance_below(&chance, 2))
      found = copied(on, &found);
    if (clpt_chance_below(&chance, 4) == 0)
      check(on, &found);
    drop(&found);
  }
  return NULL;
}

static void run_threads(void *(*act)(void *number))
{
  pthread_t each[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    require(!pthread_create(&each[i], NULL, act, (void *)i));
  for (size_t i = 0; i < THREADS; i++)
    require(!pthread_join(each[i], NULL));
}

static void threads(void)
{
  run_threads(make_pairs);
  printf("%d pairs\n", THREADS * PAIRS);
}

static void shares(void)
{
  for (int are_apart = 0; are_apart < 2; are_apart++) {
    for (size_t i = 0; i < THREADS; i++) {
      ways[i] = are_apart ? clCreateCommandQueueWithProperties(context, device, NULL, NULL) : queue;
      require(ways[i] && (are_apart || !clRetainCommandQueue(queue)));
    }
    run_threads(pass_on);
    for (size_t i = 0; i < PLACES; i++)
      if (places[i].mem) {
        check(queue, &places[i]);
        drop(&places[i]);
        places[i].mem = NULL;
      }
    for (size_t i = 0; i < THREADS; i++)
      require(!clReleaseCommandQueue(ways[i]));
  }
}

static void killed(void)
{
  make_pairs(NULL);
  kill(getpid(), SIGKILL);
}

static void exits(void)
{
  release(buffer_of(10));
  exit(7);
}

/* A child that is a copy, and one that is a program of its own. */
static void children(void)
{
  int status;
  cl_mem mem = buffer_of(500);
  fflush(stdout);
  if (fork() == 0) {
    clRetainMemObject(mem);
    clReleaseMemObject(mem);
    _exit(3);
  }
  require(wait(&status) > 0 && WEXITSTATUS(status) == 3);
  if (fork() == 0) {
    freopen("/dev/null", "w", stdout);
    execl("/proc/self/exe", "recorded", "all", (char *)NULL);
  }
  require(wait(&status) > 0 && status == 0);
  expect("free", 500);
  release(mem);
}

/* --- memory that is out --- */

enum { MIB = 1 << 20, PHASES = 6, LIVE = 4, ROOM = 600, FIRST = 90, STEP = 7 };

static void limit_memory(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  require(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file));
  const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)ROOM * MIB;
  const struct rlimit limit = {most, most};
  require(!setrlimit(RLIMIT_AS, &limit));
}

static void use_image_and_buffers(size_t mib, int count)
{
  const cl_image_format format = {CL_R, CL_FLOAT};
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4096, .image_height = mib << 6};
  const float color[4] = {1};
  const size_t origin[3] = {0}, region[3] = {4096, mib << 6, 1};
  cl_mem live[LIVE] = {clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, NULL)};
  require(live[0] && !clEnqueueFillImage(queue, live[0], color, origin, region, 0, NULL, NULL));
  for (int i = 1; i < count; i++) {
    live[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, mib * MIB, NULL, NULL);
    require(live[i] && !clEnqueueFillBuffer(queue, live[i], color, 4, 0, mib * MIB, 0, NULL, NULL));
  }
  require(!clFinish(queue));
  for (int i = 0; i < count; i++)
    release(live[i]);
}

/* There is room for what is in use, and not for much more: what clpool run holds must go. For PoCL,
 * whose memory is the process's. */
static void exhausts(void)
{
  char version[256] = "";
  (void)clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL);
  if (CLPT_SANITIZED || RUNNING_ON_VALGRIND ||
      (!strstr(version, "PoCL") && !strstr(version, "pocl")))
    exit(SKIPPED);
  use_image_and_buffers(1, 2); /* what the driver loads and starts comes before the limit */
  limit_memory();
  for (size_t phase = 0; phase < PHASES; phase++)
    use_image_and_buffers(FIRST + phase * STEP, LIVE);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } works[] = {{"all", all_kinds},    {"threads", threads}, {"shares", shares},
               {"killed", killed},    {"exits", exits},     {"children", children},
               {"exhausts", exhausts}};
  open_device();
  for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
    if (argc == 2 && strcmp(argv[1], works[i].name) == 0)
      works[i].run();
  close_context();
  return EXIT_SUCCESS;
}
