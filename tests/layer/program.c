/* SPDX-License-Identifier: MIT */
/* One program for each check: what it prints is the same with a layer and without, and has the rows
 * that its calls should come to, "ACTION SIZE CONTEXT KIND FLAGS". Its first argument says what it
 * does; 77: there is no OpenCL device that it can do that on. */
#include "program.h"

#include "support/opencl_devices.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 5000, THREADS = 4, MIB = 1 << 20 };

cl_device_id device;
static cl_context context;
static unsigned contexts; /* made so far: the number of the latest */

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

/* --- what becomes rows --- */

static void row(const char *action, size_t bytes, const char *kind, cl_mem_flags flags)
{
  printf("%s %zu %u %s 0x%llx\n", action, bytes, contexts, kind, (unsigned long long)flags);
}

static cl_mem make(size_t bytes, cl_mem_flags flags)
{
  static char own[1000];
  const bool has_host = flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR);
  cl_int code;
  cl_mem made = clCreateBuffer(context, flags, bytes, has_host ? own : NULL, &code);
  succeeded("clCreateBuffer", code);
  if (!(flags & CL_MEM_USE_HOST_PTR))
    row("allocate", bytes, "buffer", flags);
  return made;
}

static void release(cl_mem mem)
{
  require(!clReleaseMemObject(mem));
}

static void end(cl_mem mem, size_t bytes, cl_mem_flags flags)
{
  row("free", bytes, "buffer", flags);
  release(mem);
}

/* With the last reference to it and to its parts, a buffer is free. */
static void buffers(void)
{
  static const cl_mem_flags flags[] = {CL_MEM_COPY_HOST_PTR, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE};
  const cl_buffer_region half = {2048, 2048};
  cl_mem mem[3], whole = make(4096, 0);
  cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
  require(part && !clRetainMemObject(whole) && !clRetainMemObject(part));
  release(whole);
  release(whole);
  release(part);
  end(make(8, 0), 8, 0);
  end(part, 4096, 0);
  for (size_t i = 0; i < 3; i++)
    mem[i] = make(300 + i, flags[i]);
  release(make(1000, CL_MEM_USE_HOST_PTR));
  for (size_t i = 0; i < 3; i++)
    end(mem[i], 300 + i, flags[i]);
  mem[0] = clCreateBufferWithProperties(context, NULL, CL_MEM_READ_ONLY, 7, NULL, NULL);
  row("allocate", 7, "buffer", CL_MEM_READ_ONLY);
  end(mem[0], 7, CL_MEM_READ_ONLY);
}

static void failures(void)
{
  const size_t most = (size_t)1 << 62;
  cl_int code = CL_SUCCESS;
  cl_mem lazy = clCreateBuffer(context, 0, most, NULL, &code); /* some drivers have no bound */
  printf("code %d\n", code);
  row(lazy ? "allocate" : "allocate failure", most, "buffer", 0);
  if (lazy)
    end(lazy, most, 0);
  require(!clCreateBuffer(context, 0, 0, NULL, &code)); /* wrong, not refused */
  printf("code %d\n", code);
  require(!clCreateBuffer(NULL, 0, 100, NULL, NULL));
  printf("codes %d %d\n", clRetainMemObject(NULL), clReleaseMemObject(NULL));
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
  row("allocate", bytes, "image", CL_MEM_READ_WRITE);
  row("free", bytes, "image", CL_MEM_READ_WRITE);
  release(image);
  desc = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 1024};
  desc.buffer = make(4096, 0);
  image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
  printf("image of a buffer %d\n", code);
  release(image ? image : desc.buffer);
  if (image)
    end(desc.buffer, 4096, 0);
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
  row("allocate", bytes, "svm", CL_MEM_READ_WRITE);
  return pointer;
}

static void shared_virtual_memory(void)
{
  cl_device_svm_capabilities svm = 0;
  (void)clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
  if (!svm)
    return;
  cl_command_queue queue = open_queue(context, 0);
  cl_event stop = clCreateUserEvent(context, NULL);
  void *first = svm_of(100), *late = svm_of(200);
  row("free", 100, "svm", CL_MEM_READ_WRITE);
  require(!clEnqueueSVMFree(queue, 1, &first, NULL, NULL, 0, NULL, NULL));
  require(stop && !clEnqueueSVMFree(queue, 1, &late, free_svm, NULL, 1, &stop, NULL));
  first = svm_of(300); /* the late one is not free yet */
  row("free", 200, "svm", CL_MEM_READ_WRITE);
  require(!clSetUserEventStatus(stop, CL_COMPLETE) && !clReleaseEvent(stop) && !clFinish(queue));
  while (!is_freed)
    sched_yield();
  row("free", 300, "svm", CL_MEM_READ_WRITE);
  clSVMFree(context, first);
  clSVMFree(context, NULL);
  require(!clReleaseCommandQueue(queue));
}

/* Contexts one after the other have numbers of their own, though their handles may be the same. */
static void rows(void)
{
  buffers();
  failures();
  images();
  shared_virtual_memory();
  for (int i = 0; i < 3; i++) {
    require(!clReleaseContext(context));
    context = open_context();
    contexts++;
    end(make(1000, 0), 1000, 0);
  }
}

/* --- threads and ends --- */

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
  end(make(10, 0), 10, 0);
  exit(7);
}

/* A child that is a copy, and one that is a program of its own. */
static void children(void)
{
  int status;
  cl_mem mem = make(500, 0);
  fflush(stdout);
  if (fork() == 0) {
    clRetainMemObject(mem);
    clReleaseMemObject(mem);
    _exit(3);
  }
  require(wait(&status) > 0 && WEXITSTATUS(status) == 3);
  if (fork() == 0) {
    freopen("/dev/null", "w", stdout);
    execl("/proc/self/exe", "program", "rows", (char *)NULL);
  }
  require(wait(&status) > 0 && status == 0);
  end(mem, 500, 0);
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

static void nothing(void)
{
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
    cl_mem (*make)(cl_context in, unsigned step);
  } works[] = {{"rows", rows, NULL},
               {"threads", threads, NULL},
               {"killed", killed, NULL},
               {"exits", exits, NULL},
               {"children", children, NULL},
               {"nothing", nothing, NULL},
               {"phases", NULL, make_in_phases},
               {"kinds", NULL, make_of_kinds}};
  const unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  const unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
  if (argc < 2 || clpt_find_devices(1, &device) == 0)
    return SKIPPED;
  if (strcmp(argv[1], "calls") == 0)
    random_calls(first, count, argc > 4 ? (size_t)atoi(argv[4]) : 0);
  context = open_context();
  contexts++;
  for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
    if (strcmp(argv[1], works[i].name) == 0 && works[i].run)
      works[i].run();
    else if (strcmp(argv[1], works[i].name) == 0)
      sizes(works[i].make);
  require(!clReleaseContext(context));
  return EXIT_SUCCESS;
}
