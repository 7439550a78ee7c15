/* SPDX-License-Identifier: MIT */
/* One program for each check: what it prints is the same with a layer and without. Its first
 * argument says what it does; 77: there is no OpenCL device that it can do that on. */
#include "support/chance.h"
#include "support/opencl_devices.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define require(condition)    ((condition) ? (void)0 : fail(__LINE__, #condition, 0))
#define succeeded(call, code) ((code) ? fail(__LINE__, #call, (code)) : (void)0)

static void fail(int line, const char *what, cl_int code)
{
  fprintf(stderr, "%s, line %d: %s, code %d\n", __FILE__, line, what, code);
  abort();
}

enum { PAIRS = 5000, THREADS = 4, SKIPPED = 77, MOST_THREADS = 16, MIB = 1 << 20 };

static cl_device_id device;

static cl_context open_context(void)
{
  cl_int code;
  cl_context opened = clpt_create_context(1, &device, &code);
  succeeded(clCreateContext, code);
  return opened;
}

static cl_command_queue open_queue(cl_context of, cl_command_queue_properties wanted)
{
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, wanted, 0};
  cl_int code;
  cl_command_queue opened = clCreateCommandQueueWithProperties(of, device, properties, &code);
  succeeded(clCreateCommandQueueWithProperties, code);
  return opened;
}

/* They get their numbers. */
static void run_threads(size_t count, void *(*act)(void *number))
{
  pthread_t each[MOST_THREADS];
  for (size_t i = 0; i < count; i++)
    require(!pthread_create(&each[i], NULL, act, (void *)i));
  for (size_t i = 0; i < count; i++)
    require(!pthread_join(each[i], NULL));
}

/* --- random calls --- */

/* Sequences of calls on memory objects, drawn by chance. Each call is a line of output: its most
 * telling arguments, its code, the answers to queries, and a hash of the program's memory. No call
 * depends on content that OpenCL leaves undefined.
 *
 * Calls are right and wrong ones, each of which is waited for; or, with threads, nearly all are
 * right, and they are late: each waits by events for those before it on the same memory, some for
 * an event that the program ends, and objects are released meanwhile. */
enum { CALLS = 100, SLOTS = 10, MOST = 5000, ROOM = 16384, TURNS = 100000, MOST_USED = 1 << 30 };
enum { BUFFER = 1, PART = 2, IMAGE = 4, ANY = BUFFER | PART | IMAGE };

typedef struct thing {
  cl_mem mem; /* NULL: the slot is free */
  unsigned is;
  struct thing *of;           /* what it is a part or an image of; NULL: it has its own memory */
  size_t bytes;               /* of a buffer or a part */
  size_t width, height;       /* of an image, in pixels */
  size_t pixel;               /* bytes */
  unsigned references, parts; /* the program's; what else keeps it */
  cl_event latest;            /* late: of what has its own memory, behind the latest use */
} thing;

static bool is_pocl;     /* version 3.1 crashes in some calls */
static size_t alignment; /* of parts, bytes */
static cl_context shared;
static cl_program program;           /* of the shared one */
static cl_command_queue other_queue; /* of a context that is another for calls that are wrong */

#define OWN static _Thread_local
OWN bool is_late;
OWN FILE *out;
OWN clpt_chance chance;
OWN cl_context context;
OWN cl_command_queue queues[2];
OWN cl_kernel kernel;
OWN cl_event past_event, gate; /* NULL: it is open */
OWN cl_event ends[CALLS];      /* late: of queues that were replaced */
OWN unsigned end_count;
OWN thing things[SLOTS + 1];             /* the last one is never used: its handle is NULL */
OWN unsigned char (*hosts)[ROOM], *host; /* of each call, and of this one */
static alignas(4096) unsigned char backing[SLOTS][MOST + 200];

#define print(...) (void)fprintf(out, __VA_ARGS__)

/* What most calls have. */
OWN struct {
  thing *uses[2]; /* late: what has the memory */
  cl_command_queue queue;
  cl_bool blocking;
  void *host;
  cl_uint count;
  const cl_event *list;
  cl_event *event;
} call;

static size_t below(size_t bound)
{
  return clpt_chance_below(&chance, bound);
}

static bool one_in(size_t count)
{
  return below(count) == 0;
}

/* Late calls are not wrong on purpose. */
static bool wrong_in(size_t count)
{
  return !is_late && one_in(count);
}

/* One of these kinds; now and then of another kind, or none. */
static thing *draw(unsigned kinds)
{
  const size_t first = below(SLOTS);
  kinds = wrong_in(40) ? ANY : wrong_in(40) ? 0 : kinds;
  for (size_t i = 0; i < SLOTS; i++) {
    thing *it = &things[(first + i) % SLOTS];
    if (it->references > 0 && kinds & it->is)
      return it;
  }
  return &things[SLOTS];
}

static thing *free_slot(void)
{
  thing *it = things;
  while (it < &things[SLOTS] && it->mem)
    it++;
  return it;
}

/* A range of something of so many bytes; often its end, or beyond it. */
static void draw_range(size_t of, size_t *offset, size_t *bytes)
{
  *offset = wrong_in(8) ? of + below(100) : below(of + 1);
  *bytes = *offset < of ? 1 + below(of - *offset) : below(100);
  if (*offset < of && one_in(3))
    *bytes = of - *offset + !is_late * below(2) * below(100);
  if (wrong_in(40))
    *(one_in(2) ? offset : bytes) = one_in(2) ? 0 : SIZE_MAX - below(200);
}

static cl_mem_flags draw_flags(void)
{
  const cl_mem_flags flag = (cl_mem_flags)1 << below(12);
  return is_late || !one_in(4) ? 0 : one_in(4) ? flag | (cl_mem_flags)1 << below(12) : flag;
}

static void draw_call(void)
{
  static _Thread_local cl_event event;
  for (size_t i = 0; i < ROOM; i += sizeof(uint64_t))
    memcpy(host + i, &(uint64_t){clpt_chance_next(&chance)}, sizeof(uint64_t));
  call.queue = wrong_in(50) ? other_queue : queues[below(2)];
  call.blocking = !is_late && one_in(2);
  call.host = wrong_in(40) ? NULL : host;
  call.list = !is_late && one_in(4) ? &past_event : NULL;
  call.count = one_in(20) ? !call.list : call.list != NULL;
  call.event = is_late || one_in(3) ? &event : NULL;
}

/* What the call uses, for which it waits if it is late, and sometimes for the gate. */
static void uses(thing *one, thing *other)
{
  static _Thread_local cl_event list[3];
  thing *things_used[] = {one->of ? one->of : one, other->of ? other->of : other};
  if (!is_late)
    return;
  call.count = 0;
  for (int i = 0; i < 2; i++) {
    call.uses[i] = things_used[i];
    if (things_used[i]->latest)
      list[call.count++] = things_used[i]->latest;
  }
  if (gate && one_in(4))
    list[call.count++] = gate;
  call.list = call.count > 0 ? list : NULL;
}

static void finish(void)
{
  require(is_late ? !clFlush(queues[0]) && !clFlush(queues[1])
                  : !clFinish(queues[0]) && !clFinish(queues[1]));
}

static cl_int end_call(cl_int code)
{
  cl_command_type type = 0;
  print(": %d", code);
  if (!code && call.event) {
    require(!clGetEventInfo(*call.event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    print(" %#x", type);
    for (int i = 0; i < 2 && is_late; i++)
      if (call.uses[i]->mem) {
        cl_event *latest = &call.uses[i]->latest;
        require(!clRetainEvent(*call.event) && (!*latest || !clReleaseEvent(*latest)));
        *latest = *call.event;
      }
    require(!clReleaseEvent(*call.event));
  }
  finish();
  return code;
}

#define ENQUEUE(function, ...)                                                                     \
  end_call(function(call.queue, __VA_ARGS__, call.count, call.list, call.event))

/* --- ranges, boxes and images --- */

static void use_range(void)
{
  size_t at, to_at, bytes, to_bytes;
  thing *it = draw(BUFFER | PART), *to = one_in(3) ? it : draw(BUFFER | PART);
  const size_t what = below(4);
  const size_t unit = wrong_in(10) ? below(256) : (size_t)1 << below(8);
  draw_range(it->bytes, &at, &bytes);
  draw_range(to->bytes, &to_at, &to_bytes);
  at -= what == 0 && unit && !wrong_in(4) ? at % unit : 0;
  bytes -= what == 0 && unit && !wrong_in(4) ? bytes % unit : 0;
  bytes = what == 3 && one_in(2) ? to_bytes : bytes;
  print(" %td: %zu, %zu at %zu", what, it - things, bytes, at);
  uses(it, what == 3 ? to : it);
  if (what == 0)
    ENQUEUE(clEnqueueFillBuffer, it->mem, call.host, unit, at, bytes);
  else if (what == 1)
    ENQUEUE(clEnqueueReadBuffer, it->mem, call.blocking, at, bytes, call.host);
  else if (what == 2)
    ENQUEUE(clEnqueueWriteBuffer, it->mem, call.blocking, at, bytes, call.host);
  else
    ENQUEUE(clEnqueueCopyBuffer, it->mem, to->mem, at, to_at, bytes);
}

typedef struct box {
  size_t origin[3], row, slice;
} box;

/* One that ends about there, or anywhere. */
static box draw_box(const size_t *region, size_t of)
{
  box drawn = {.origin = {below(20), below(4), below(3)}};
  const size_t row = region[0] + below(2) * below(8);
  const size_t slice = region[1] * row + below(2) * below(16);
  const size_t end = (drawn.origin[2] + region[2] - 1) * slice +
                     (drawn.origin[1] + region[1] - 1) * row + drawn.origin[0] + region[0];
  drawn.row = row == region[0] && one_in(2) ? 0 : row;
  drawn.slice = slice == region[1] * row && one_in(2) ? 0 : slice;
  if (of > end && one_in(2))
    drawn.origin[0] += of - end + below(2) * below(60);
  if (one_in(20))
    *(one_in(2) ? &drawn.row : &drawn.slice) = below(region[0] + 2);
  return drawn;
}

static void use_box(void)
{
  size_t region[3];
  thing *it = draw(BUFFER | PART), *to = one_in(3) ? it : draw(BUFFER | PART);
  const size_t what = is_pocl && !(it->is & to->is & BUFFER) ? below(2) : below(3);
  for (size_t i = 0; i < 3; i++)
    region[i] = wrong_in(40) && !(is_pocl && what == 2) ? 0 : 1 + below(i ? 5 : 60);
  print(" %td: %zu, %zu %zu %zu", what, it - things, region[0], region[1], region[2]);
  const box at = draw_box(region, it->bytes);
  const box other = draw_box(region, what == 2 ? to->bytes : 0);
  uses(it, what == 2 ? to : it);
  const size_t *origin = wrong_in(40) ? NULL : at.origin;
  if (what == 0)
    ENQUEUE(clEnqueueReadBufferRect, it->mem, call.blocking, origin, other.origin, region, at.row,
            at.slice, other.row, other.slice, call.host);
  else if (what == 1)
    ENQUEUE(clEnqueueWriteBufferRect, it->mem, call.blocking, origin, other.origin, region, at.row,
            at.slice, other.row, other.slice, call.host);
  else
    ENQUEUE(clEnqueueCopyBufferRect, it->mem, to->mem, origin, other.origin, region, at.row,
            at.slice, other.row, other.slice);
}

static void use_image(void)
{
  size_t offset;
  thing *it = draw(IMAGE), *with = draw(BUFFER | PART);
  const bool both = !is_pocl || (it->is == IMAGE && with->is == BUFFER);
  const size_t what = below(!both ? 2 : is_pocl && it->of ? 3 : 4);
  const size_t origin[] = {below(it->width + 1), it->of ? 0 : below(it->height + 1), 0};
  const size_t rows = one_in(8) ? below(9) : it->height - origin[1];
  const size_t region[] = {it->width - origin[0] + below(2) * below(20), it->of ? 1 : rows, 1};
  const size_t bytes = it->pixel * region[0] * region[1];
  draw_range(with->bytes, &offset, &(size_t){0});
  if (with->bytes >= bytes && one_in(2))
    offset = with->bytes - bytes + below(2) * below(60);
  print(" %td: %zu with %td at %zu", what, it - things, with - things, offset);
  uses(it, what < 2 ? it : with);
  if (what == 0)
    ENQUEUE(clEnqueueReadImage, it->mem, call.blocking, origin, region, 0, 0, call.host);
  else if (what == 1)
    ENQUEUE(clEnqueueWriteImage, it->mem, call.blocking, origin, region, 0, 0, call.host);
  else if (what == 2)
    ENQUEUE(clEnqueueCopyBufferToImage, with->mem, it->mem, offset, origin, region);
  else
    ENQUEUE(clEnqueueCopyImageToBuffer, it->mem, with->mem, origin, region, offset);
}

static void migrate(void)
{
  thing *one = draw(ANY), *other = draw(ANY);
  const cl_mem mems[] = {one->mem, other->mem};
  const cl_uint count = is_late ? 2 : (cl_uint)below(3);
  const cl_mem_migration_flags flags = one_in(8) ? 64 : one_in(2) * CL_MIGRATE_MEM_OBJECT_HOST;
  print(" %u: %td, as %zu", count, one - things, (size_t)flags);
  uses(one, other);
  ENQUEUE(clEnqueueMigrateMemObjects, count, call.host ? mems : NULL, flags);
}

static void run_kernel(void)
{
  thing *it = draw(BUFFER | PART);
  const cl_uint numbers[] = {(cl_uint)it->bytes / 4, (cl_uint)below(1000), (cl_uint)below(100000)};
  const size_t one = 1;
  if (!kernel || !(it->is & (BUFFER | PART)))
    return;
  require(!clSetKernelArg(kernel, 0, sizeof(cl_mem), &it->mem));
  for (cl_uint i = 0; i < 3; i++)
    require(!clSetKernelArg(kernel, i + 1, sizeof(cl_uint), &numbers[i]));
  uses(it, it);
  ENQUEUE(clEnqueueNDRangeKernel, kernel, 1, NULL, &one, &one);
}

/* --- life --- */

/* PoCL lets go of an object some time after the work with it is done. Late work is not waited for.
 */
static cl_uint await_count(const thing *it, cl_mem_info what, cl_uint most)
{
  cl_uint count = most;
  for (unsigned turns = is_late ? 0 : TURNS; turns > 0; turns--, sched_yield())
    if (clGetMemObjectInfo(it->mem, what, sizeof(count), &count, NULL) || count <= most)
      break;
  return count;
}

/* Some drivers let a part or an image end beyond its buffer, make a part of a part, or promise any
 * size. That is not used. */
static bool begin(thing made, bool is_right)
{
  thing *it = free_slot();
  print(" %s", made.mem ? "made" : "not made");
  if (!made.mem || !is_right || (made.of && made.of->is != BUFFER))
    return require(!made.mem || !clReleaseMemObject(made.mem)), false;
  *it = made;
  it->references = 1;
  if (it->of)
    it->of->parts++;
  return true;
}

static void make_buffer(void)
{
  thing *it = free_slot();
  const cl_mem_flags flags = draw_flags();
  const bool needs_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
  const size_t few = one_in(4) ? 1 + below(MOST) : (1 + below(4)) * 1200 - below(60);
  const size_t bytes = wrong_in(40) ? 0 : wrong_in(40) ? SIZE_MAX / 2 : few;
  cl_int code;
  if (it == &things[SLOTS])
    return;
  cl_mem mem = clCreateBuffer(context, flags, bytes,
                              needs_host != wrong_in(40) ? backing[it - things] : NULL, &code);
  print(" %zu, flags %#zx: %d", bytes, (size_t)flags, code);
  if (!begin((thing){.mem = mem, .is = BUFFER, .bytes = bytes}, bytes <= MOST_USED))
    return;
  print(", %u maps", await_count(it, CL_MEM_MAP_COUNT, 0));
  require(!clEnqueueFillBuffer(queues[0], mem, host, 1, 0, bytes, 0, NULL, &it->latest));
  finish();
  require(is_late || !clReleaseEvent(it->latest));
}

static void make_part(void)
{
  cl_buffer_region region;
  cl_int code;
  const cl_mem_flags flags = draw_flags();
  const cl_buffer_create_type type = CL_BUFFER_CREATE_TYPE_REGION + wrong_in(40);
  thing *of = draw(wrong_in(20) ? PART : BUFFER);
  draw_range(of->bytes, &region.origin, &region.size);
  region.origin -= wrong_in(8) ? 0 : region.origin % alignment;
  if (of->bytes > region.origin && one_in(2))
    region.size = of->bytes - region.origin + below(2) * below(60);
  if (free_slot() == &things[SLOTS])
    return;
  cl_mem mem = clCreateSubBuffer(of->mem, flags, type, call.host ? &region : NULL, &code);
  print(" of %td, flags %#zx: %d", of - things, (size_t)flags, code);
  begin((thing){.mem = mem, .is = PART, .of = of, .bytes = region.size},
        region.origin <= of->bytes && region.size <= of->bytes - region.origin);
}

static void make_image(void)
{
  static const cl_image_format formats[] = {{CL_RGBA, CL_UNSIGNED_INT8}, {CL_RGBA, CL_FLOAT}};
  thing *of = one_in(3) ? &things[SLOTS] : draw(BUFFER | PART);
  const size_t format = below(2), pixel = format ? 16 : 4;
  const bool is_line = wrong_in(20) != (of->mem != NULL);
  const size_t width =
      is_line && one_in(2) ? (of->bytes + below(2) * below(100)) / pixel : 1 + below(60);
  const size_t height = is_line ? 1 : 1 + below(8);
  const cl_mem_flags flags = draw_flags();
  const cl_image_desc desc = {.image_type =
                                  is_line ? CL_MEM_OBJECT_IMAGE1D_BUFFER : CL_MEM_OBJECT_IMAGE2D,
                              .image_width = width,
                              .image_height = is_line ? 0 : height,
                              .buffer = of->mem};
  cl_int code;
  if (free_slot() == &things[SLOTS])
    return;
  cl_mem mem = clCreateImage(context, flags, &formats[format], &desc, NULL, &code);
  print(" of %td, flags %#zx: %d", of - things, (size_t)flags, code);
  thing *it = free_slot();
  if (!begin((thing){mem, IMAGE, of->mem ? of : NULL, 0, width, height, pixel, 0, 0, NULL},
             !of->mem || pixel * width * height <= of->bytes) ||
      of->mem)
    return;
  require(!clEnqueueFillImage(queues[0], mem, host, (const size_t[3]){0},
                              (const size_t[3]){width, height, 1}, 0, NULL, &it->latest));
  finish();
  require(is_late || !clReleaseEvent(it->latest));
}

static void retain(void)
{
  thing *it = draw(ANY);
  const cl_int code = clRetainMemObject(it->mem);
  print(" %td: %d", it - things, code);
  it->references += !code;
}

static atomic_uint late_releases; /* that are to come */

static void CL_CALLBACK release_late(cl_event event, cl_int progress, void *mem)
{
  require(progress == CL_COMPLETE && !clReleaseMemObject(mem));
  atomic_fetch_sub(&late_releases, 1);
}

/* Sometimes by a callback, behind the latest use. */
static cl_int release_mem(const thing *it)
{
  const thing *of = it->of ? it->of : it;
  if (!is_late || !it->mem || !one_in(8))
    return clReleaseMemObject(it->mem);
  atomic_fetch_add(&late_releases, 1);
  return clSetEventCallback(of->latest, CL_COMPLETE, release_late, it->mem);
}

/* With the last reference to it, and to its parts, an object ends. */
static void release_one(thing *it)
{
  const cl_int code = release_mem(it);
  print(" %td: %d", it - things, code);
  it->references -= !code;
  while (it && it->mem && it->references == 0 && it->parts == 0) {
    thing *of = it->of;
    require(!is_late || !it->latest || !clReleaseEvent(it->latest));
    *it = (thing){0};
    it = of;
    if (of)
      of->parts--;
  }
}

static void release_some(void)
{
  release_one(draw(ANY));
}

/* --- the gate, and queues whose work may be pending --- */

static void open_gate(void)
{
  require(!gate || (!clSetUserEventStatus(gate, CL_COMPLETE) && !clReleaseEvent(gate)));
  gate = NULL;
}

static void turn_gate(void)
{
  if (gate)
    open_gate();
  else if (is_late)
    gate = clCreateUserEvent(context, NULL);
}

static void replace_queue(void)
{
  const size_t which = below(2);
  if (!is_late)
    return;
  require(!clEnqueueMarkerWithWaitList(queues[which], 0, NULL, &ends[end_count++]) &&
          !clReleaseCommandQueue(queues[which]));
  queues[which] = open_queue(context, which * CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* --- maps and queries --- */

/* Of an image, a row. */
static void map(void)
{
  size_t offset, bytes, pitches[2] = {0, 0};
  cl_int code;
  thing *it = draw(ANY);
  const cl_map_flags flags = one_in(10) ? below(8) : (cl_map_flags)1 << below(3);
  draw_range(it->is == IMAGE ? it->width : it->bytes, &offset, &bytes);
  if (it->is == IMAGE) { /* PoCL aborts at 0, and lets sums overflow */
    offset %= ROOM;
    bytes = bytes % ROOM + (bytes == 0);
  }
  open_gate(); /* which late maps would wait for */
  call.blocking |= is_late;
  uses(it, it);
  print(" %td: %zu at %zu, as %zu", it - things, bytes, offset, (size_t)flags);
  void *at =
      it->is == IMAGE
          ? clEnqueueMapImage(call.queue, it->mem, call.blocking, flags,
                              (const size_t[]){offset, 0, 0}, (const size_t[]){bytes, 1, 1},
                              &pitches[0], &pitches[1], call.count, call.list, call.event, &code)
          : clEnqueueMapBuffer(call.queue, it->mem, call.blocking, flags, offset, bytes, call.count,
                               call.list, call.event, &code);
  if (end_call(code))
    return;
  print(", %zu %zu, %u maps, %u references", pitches[0], pitches[1],
        await_count(it, CL_MEM_MAP_COUNT, 1),
        await_count(it, CL_MEM_REFERENCE_COUNT, it->references + it->parts + 1));
  bytes *= it->is == IMAGE ? it->pixel : 1;
  if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
    memcpy(at, host, bytes);
  memcpy(host, at, bytes);
  call.queue = queues[0];
  call.event = is_late ? call.event : NULL;
  if (wrong_in(4))
    ENQUEUE(clEnqueueUnmapMemObject, it->mem, host);
  uses(it, it);
  call.count = is_late ? call.count : call.list != NULL;
  ENQUEUE(clEnqueueUnmapMemObject, it->mem, at);
}

static void ask(void)
{
  union {
    const void *pointer;
    unsigned char bytes[16];
  } answer = {NULL};
  thing *it = draw(ANY);
  const bool is_image = it->is == IMAGE && one_in(2);
  const cl_uint what = (is_image ? CL_IMAGE_FORMAT : CL_MEM_TYPE) + (cl_uint)below(12);
  const size_t room = one_in(8) ? below(8) : sizeof(answer);
  void *to = one_in(8) ? NULL : memset(&answer, 0, sizeof(answer));
  size_t size = 99;
  if (is_late && (what == CL_MEM_REFERENCE_COUNT || what == CL_MEM_MAP_COUNT))
    return;
  (void)await_count(it, CL_MEM_REFERENCE_COUNT, it->references + it->parts);
  const cl_int code = is_image ? clGetImageInfo(it->mem, what, room, to, &size)
                               : clGetMemObjectInfo(it->mem, what, room, to, &size);
  print(" %td: %#x, room %zu, %d: %d, %zu:", it - things, what, room, to != NULL, code, size);
  if (what == CL_MEM_HOST_PTR || what == CL_MEM_CONTEXT || what == CL_MEM_ASSOCIATED_MEMOBJECT ||
      what == CL_IMAGE_BUFFER)
    print(" %d %d %d %d", !answer.pointer, answer.pointer == context,
          it->of && answer.pointer == it->of->mem, answer.pointer == backing[it - things]);
  else
    for (size_t i = 0; to && i < sizeof(answer); i++)
      print(" %x", answer.bytes[i]);
}

/* --- sequences --- */

#define STEP(weight, take)                                                                         \
  {                                                                                                \
    weight, #take, take                                                                            \
  }
static const struct {
  size_t weight;
  const char *name;
  void (*take)(void);
} steps[] = {STEP(44, use_range), STEP(14, map),          STEP(26, use_box),   STEP(16, use_image),
             STEP(3, migrate),    STEP(50, make_buffer),  STEP(20, make_part), STEP(10, make_image),
             STEP(3, retain),     STEP(26, release_some), STEP(14, ask),       STEP(20, run_kernel),
             STEP(15, turn_gate), STEP(3, replace_queue)};

static void print_hash(unsigned i)
{
  uint64_t hash = 0, word;
  for (size_t at = 0; at < ROOM; at += sizeof(word)) {
    memcpy(&word, hosts[i] + at, sizeof(word));
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  print(", %016llx\n", (unsigned long long)hash);
}

static void take_step(unsigned number)
{
  size_t i = 0;
  host = hosts[number];
  draw_call();
  for (size_t left = below(264); left >= steps[i].weight; i++)
    left -= steps[i].weight;
  print("%u %s", number, steps[i].name);
  steps[i].take();
  is_late ? print("\n") : print_hash(number);
}

/* Takes a while, so that buffers are released before it is done. */
static const char source[] =
    "kernel void stir(global uint *words, uint count, uint value, uint spins) {\n"
    "  for (uint i = 0; i < spins; i++) value = value * 1664525u + 1013904223u + (value >> 7);\n"
    "  for (uint i = 0; i < count; i++) words[i] = words[i] * 3u + value;\n"
    "}\n";

static void run(unsigned seed)
{
  print("sequence %u\n", seed);
  chance = clpt_chance_seed(seed);
  context = is_late && seed % 2 ? shared : open_context();
  require(context != shared || !clRetainContext(shared));
  queues[0] = open_queue(context, 0);
  queues[1] = open_queue(context, is_late ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  kernel = context == shared ? clCreateKernel(program, "stir", NULL) : NULL;
  require(!clEnqueueMarkerWithWaitList(queues[0], 0, NULL, &past_event) && !clFinish(queues[0]));
  for (unsigned i = 0; i < CALLS; i++)
    take_step(i);
  open_gate();
  for (thing *it = things; it < &things[SLOTS]; it++)
    while (it->references > 0)
      release_one(it);
  memset(things, 0, sizeof(things));
  require(!clFinish(queues[0]) && !clFinish(queues[1]) && !clReleaseEvent(past_event));
  while (end_count > 0) {
    require(!clWaitForEvents(1, &ends[--end_count]));
    require(!clReleaseEvent(ends[end_count]));
  }
  for (unsigned i = 0; is_late && i < CALLS; i++)
    print_hash(i);
  print("\n");
  require(!kernel || !clReleaseKernel(kernel));
  require(!clReleaseCommandQueue(queues[0]) && !clReleaseCommandQueue(queues[1]));
  require(!clReleaseContext(context));
}

static unsigned first_seed, seed_count;
static char **texts;
static atomic_uint next;

static void *run_late(void *number)
{
  is_late = true;
  hosts = malloc(CALLS * sizeof(*hosts));
  require(hosts);
  for (unsigned i; (i = atomic_fetch_add(&next, 1)) < seed_count;) {
    size_t size;
    out = open_memstream(&texts[i], &size);
    require(out);
    run(first_seed + i);
    require(!fclose(out));
  }
  free(hosts);
  return NULL;
}

static void random_calls(unsigned first, unsigned count, size_t threads)
{
  char name[64] = "";
  cl_platform_id platform;
  cl_uint bits = 0;
  require(!clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL));
  (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
  is_pocl = strcmp(name, "Portable Computing Language") == 0;
  require(!clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  alignment = bits / 8;
  shared = open_context();
  const char *text = source;
  program = clCreateProgramWithSource(shared, 1, &text, NULL, NULL);
  require(program && !clBuildProgram(program, 1, &device, "", NULL, NULL));
  other_queue = open_queue(shared, 0);
  first_seed = first;
  seed_count = count;
  texts = calloc(count + 1, sizeof(*texts));
  hosts = malloc(CALLS * sizeof(*hosts));
  require(texts && hosts);
  out = stdout;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  for (unsigned i = 0; i < count && threads == 0; i++)
    run(first + i);
  run_threads(threads, run_late);
  for (unsigned i = 0; i < count && threads > 0; i++) {
    fputs(texts[i], stdout);
    free(texts[i]);
  }
  while (atomic_load(&late_releases) > 0)
    sched_yield();
  free(texts);
  free(hosts);
  require(!clReleaseProgram(program) && !clReleaseCommandQueue(other_queue));
  require(!clReleaseContext(shared));
}

static cl_context plain; /* of what follows */

static cl_mem make(size_t bytes)
{
  cl_int code;
  cl_mem made = clCreateBuffer(plain, 0, bytes, NULL, &code);
  succeeded(clCreateBuffer, code);
  return made;
}

static void release(cl_mem mem)
{
  succeeded(clReleaseMemObject, clReleaseMemObject(mem));
}

/* --- threads and ends --- */

static void *make_pairs(void *number)
{
  for (unsigned i = 0; i < PAIRS; i++) {
    cl_mem mem = make(1000 * ((size_t)number + 1) + i % 8);
    succeeded(clRetainMemObject, clRetainMemObject(mem));
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

/* PoCL makes a context without devices, which it cannot release. */
static void exits(void)
{
  (void)clCreateContextFromType(NULL, CL_DEVICE_TYPE_CUSTOM, NULL, NULL, NULL);
  release(make(10));
  exit(7);
}

/* A context ends before its buffer, and another one not at all. */
static void leaves(void)
{
  cl_context own = open_context();
  require(clCreateBuffer(own, 0, 10, NULL, NULL) && !clReleaseContext(own));
  exit(EXIT_SUCCESS);
}

/* A child that is a copy, and one that is a program of its own. */
static void children(void)
{
  int status;
  cl_mem mem = make(500);
  if (fork() == 0)
    _exit((clRetainMemObject(mem), clReleaseMemObject(mem), 3));
  require(wait(&status) > 0 && WEXITSTATUS(status) == 3);
  if (fork() == 0)
    execl("/proc/self/exe", "program", "phases", (char *)NULL);
  require(wait(&status) > 0 && status == 0);
  release(mem);
}

/* --- sizes, of which clpool tune says what clpool run would take for them --- */

/* In one context, sizes that are others in each phase, and larger ones that come again; in another,
 * which has pools of its own, sizes that grow. */
static cl_mem make_in_phases(cl_context in, unsigned step)
{
  const cl_mem_flags flags = below(3) ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
  const size_t bytes = step % 8 == 0   ? MIB + step * 7919 % 16 * 65537
                       : step % 8 == 1 ? 1000 + (size_t)step * step / 16
                                       : 1000 + step / 1000 * 30001 + below(1000);
  return clCreateBuffer(step % 8 == 1 ? in : plain, flags, bytes, NULL, NULL);
}

/* Images and buffers of a few sizes, with flags of all sorts. */
static cl_mem make_of_kinds(cl_context in, unsigned step)
{
  static const cl_mem_flags hosts_use[] = {0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY,
                                           CL_MEM_HOST_NO_ACCESS, CL_MEM_ALLOC_HOST_PTR};
  static const cl_mem_flags kernels[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = 16 + 16 * below(16),
                              .image_height = 16 + 64 * below(4)};
  cl_mem image = step % 2 ? NULL /* as where there are no images */
                          : clCreateImage(in, kernels[below(2) + 1], &format, &desc, NULL, NULL);
  return image ? image
               : clCreateBuffer(in, hosts_use[below(5)] | kernels[below(4)], 4096 * (1 + below(20)),
                                NULL, NULL);
}

static void sizes(cl_mem (*make_one)(cl_context in, unsigned step))
{
  enum { LIVE = 100, STEPS = 3000 };
  cl_mem live[LIVE] = {NULL};
  cl_context other = open_context();
  chance = clpt_chance_seed(1);
  for (unsigned step = 0; step < STEPS; step++) {
    cl_mem *one = &live[below(LIVE)];
    if (*one)
      release(*one);
    *one = *one ? NULL : make_one(other, step);
  }
  for (size_t i = 0; i < LIVE; i++)
    if (live[i])
      release(live[i]);
  succeeded(clReleaseContext, clReleaseContext(other));
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
  } works[] = {{"threads", threads},   {"killed", killed}, {"exits", exits}, {"leaves", leaves},
               {"children", children}, {"phases", phases}, {"kinds", kinds}};
  if (argc < 2 || clpt_find_devices(1, &device) == 0)
    return SKIPPED;
  if (argc > 4)
    random_calls((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), (size_t)atoi(argv[4]));
  plain = open_context();
  for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
    if (strcmp(argv[1], works[i].name) == 0)
      works[i].run();
  succeeded(clReleaseContext, clReleaseContext(plain));
  return EXIT_SUCCESS;
}
