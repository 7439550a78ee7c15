/* SPDX-License-Identifier: MIT */
/* Sequences of calls on memory objects, right and wrong ones, drawn by chance. Each call is a line
 * of output: its arguments, its code, the answers to queries, and a hash of the program's memory
 * after the call. A layer must not change the output: no call depends on content that OpenCL leaves
 * undefined, or on work that is not done.
 *
 * To add a call, write a function that draws and prints the arguments, makes the call, and prints
 * what comes of it. Give it a row of `steps`. */
#include "program.h"

#include <stdalign.h>

enum {
  CALLS = 100,
  SLOTS = 10,
  MOST = 5000,
  ROOM = 16384,
  MOST_USED = 1 << 30,
  WATCHES = 3,
  TURNS = 100000
};

/* --- what a sequence has --- */

enum { BUFFER = 1, PART = 2, IMAGE = 4, ANY = BUFFER | PART | IMAGE };

typedef struct thing {
  cl_mem mem; /* NULL: the slot is free */
  unsigned is;
  struct thing *of;           /* what it is a part or an image of; NULL: it has its own memory */
  size_t bytes;               /* of a buffer or a part */
  size_t width, height;       /* of an image, in pixels */
  size_t pixel;               /* bytes */
  unsigned references, parts; /* the program's; what else keeps it */
  unsigned watches;           /* destructor callbacks */
} thing;

static bool is_pocl;     /* version 3.1 crashes in some calls */
static size_t alignment; /* of parts, bytes */
static clpt_chance chance;
static cl_context context, other_context;
static cl_command_queue queues[2], other_queue;
static cl_event past_event;
static thing things[SLOTS + 1]; /* the last one is never used: its handle is NULL */
static alignas(4096) unsigned char host[ROOM], backing[SLOTS][MOST + 200];

/* What most calls have. */
static struct {
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

static size_t slot_of(const thing *it)
{
  return (size_t)(it - things);
}

/* One of these kinds; now and then of another kind, or none. */
static thing *draw(unsigned kinds)
{
  const size_t first = below(SLOTS);
  kinds = one_in(40) ? ANY : one_in(40) ? 0 : kinds;
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
  *offset = one_in(8) ? of + below(100) : below(of + 1);
  *bytes = *offset < of ? 1 + below(of - *offset) : below(100);
  if (*offset < of && one_in(3))
    *bytes = of - *offset + below(2) * below(100);
  if (one_in(40))
    *(one_in(2) ? offset : bytes) = one_in(2) ? 0 : SIZE_MAX - below(200);
}

static cl_mem_flags draw_flags(void)
{
  const cl_mem_flags flag = (cl_mem_flags)1 << below(12);
  return !one_in(4) ? 0 : one_in(4) ? flag | (cl_mem_flags)1 << below(12) : flag;
}

static void draw_call(void)
{
  static cl_event event;
  for (size_t i = 0; i < ROOM; i += sizeof(uint64_t))
    memcpy(host + i, &(uint64_t){clpt_chance_next(&chance)}, sizeof(uint64_t));
  call.queue = one_in(50) ? other_queue : queues[below(2)];
  call.blocking = one_in(2);
  call.host = one_in(40) ? NULL : host;
  call.list = one_in(4) ? &past_event : NULL;
  call.count = one_in(20) ? !call.list : call.list != NULL;
  call.event = one_in(3) ? &event : NULL;
}

static cl_int end_call(cl_int code)
{
  cl_command_type type = 0;
  printf("; %d %u %c%c%c%c: %d", call.queue == other_queue, call.count, call.list ? 'l' : '-',
         call.blocking ? 'b' : '-', call.host ? 'h' : '-', call.event ? 'e' : '-', code);
  if (!code && call.event) {
    require(!clGetEventInfo(*call.event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    require(!clReleaseEvent(*call.event));
    printf(" %#x", type);
  }
  require(!clFinish(queues[0]) && !clFinish(queues[1]));
  return code;
}

#define ENQUEUE(function, ...)                                                                     \
  end_call(function(call.queue, __VA_ARGS__, call.count, call.list, call.event))

/* --- ranges, boxes and images --- */

static void use_range(void)
{
  static const char *const names[] = {"fill", "read", "write", "copy"};
  size_t at, to_at, bytes, to_bytes;
  const thing *it = draw(BUFFER | PART), *to = one_in(3) ? it : draw(BUFFER | PART);
  const size_t what = below(4);
  const size_t unit = one_in(10) ? below(256) : (size_t)1 << below(8);
  draw_range(it->bytes, &at, &bytes);
  draw_range(to->bytes, &to_at, &to_bytes);
  at -= what == 0 && unit && !one_in(4) ? at % unit : 0;
  bytes -= what == 0 && unit && !one_in(4) ? bytes % unit : 0;
  bytes = what == 3 && one_in(2) ? to_bytes : bytes;
  printf("%s %zu: %zu bytes at %zu, of %zu, to %zu, at %zu", names[what], slot_of(it), bytes, at,
         unit, slot_of(to), to_at);
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
  printf(", %zu %zu %zu in %zu %zu", drawn.origin[0], drawn.origin[1], drawn.origin[2], drawn.row,
         drawn.slice);
  return drawn;
}

static void use_box(void)
{
  static const char *const names[] = {"read box", "write box", "copy box"};
  size_t region[3];
  const thing *it = draw(BUFFER | PART), *to = one_in(3) ? it : draw(BUFFER | PART);
  const size_t what = is_pocl && !(it->is & to->is & BUFFER) ? below(2) : below(3);
  for (size_t i = 0; i < 3; i++)
    region[i] = one_in(40) && !(is_pocl && what == 2) ? 0 : 1 + below(i ? 5 : 60);
  printf("%s %zu to %zu: %zu %zu %zu", names[what], slot_of(it), slot_of(to), region[0], region[1],
         region[2]);
  const box at = draw_box(region, it->bytes);
  const box other = draw_box(region, what == 2 ? to->bytes : 0);
  const size_t *origin = one_in(40) ? NULL : at.origin;
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
  static const char *const names[] = {"read image", "write image", "image from", "image to"};
  size_t offset;
  const thing *it = draw(IMAGE), *with = draw(BUFFER | PART);
  const bool both = !is_pocl || (it->is == IMAGE && with->is == BUFFER);
  const size_t what = below(!both ? 2 : is_pocl && it->of ? 3 : 4);
  const size_t origin[] = {below(it->width + 1), it->of ? 0 : below(it->height + 1), 0};
  const size_t rows = one_in(8) ? below(9) : it->height - origin[1];
  const size_t region[] = {it->width - origin[0] + below(2) * below(20), it->of ? 1 : rows, 1};
  const size_t bytes = it->pixel * region[0] * region[1];
  draw_range(with->bytes, &offset, &(size_t){0});
  if (with->bytes >= bytes && one_in(2))
    offset = with->bytes - bytes + below(2) * below(60);
  printf("%s %zu with %zu: %zu %zu at %zu %zu, %zu", names[what], slot_of(it), slot_of(with),
         region[0], region[1], origin[0], origin[1], offset);
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
  const thing *one = draw(ANY), *other = draw(ANY);
  const cl_mem mems[] = {one->mem, other->mem};
  const cl_uint count = (cl_uint)below(3);
  const cl_mem_migration_flags flags = one_in(8) ? 64 : one_in(2) * CL_MIGRATE_MEM_OBJECT_HOST;
  printf("migrate %u: %zu %zu, as %zu", count, slot_of(one), slot_of(other), (size_t)flags);
  ENQUEUE(clEnqueueMigrateMemObjects, count, call.host ? mems : NULL, flags);
}

/* --- life --- */

/* PoCL lets go of an object some time after the work with it is done. */
static cl_uint await_count(const thing *it, cl_mem_info what, cl_uint most)
{
  cl_uint count = most;
  for (unsigned turns = TURNS; turns > 0; turns--, sched_yield())
    if (clGetMemObjectInfo(it->mem, what, sizeof(count), &count, NULL) || count <= most)
      break;
  return count;
}

/* Some drivers let a part or an image end beyond its buffer, make a part of a part, or promise any
 * size. That is not used. */
static bool begin(thing made, bool is_right)
{
  thing *it = free_slot();
  printf(" %s", made.mem ? "made" : "not made");
  if (made.mem && (!is_right || (made.of && made.of->is != BUFFER))) {
    require(!clReleaseMemObject(made.mem));
    return false;
  }
  if (!made.mem)
    return false;
  *it = made;
  it->references = 1;
  if (it->of)
    it->of->parts++;
  return true;
}

static void make_buffer_of(size_t bytes, cl_mem_flags flags, bool has_host)
{
  thing *it = free_slot();
  cl_int code;
  void *from = has_host ? backing[slot_of(it)] : NULL;
  printf("make %zu: %zu bytes, flags %#zx, %d", slot_of(it), bytes, (size_t)flags, has_host);
  cl_mem mem = clCreateBuffer(context, flags, bytes, from, &code);
  printf(": %d", code);
  if (!begin((thing){.mem = mem, .is = BUFFER, .bytes = bytes}, bytes <= MOST_USED))
    return;
  printf(", %u maps", await_count(it, CL_MEM_MAP_COUNT, 0));
  require(!clEnqueueFillBuffer(queues[0], mem, host, 1, 0, bytes, 0, NULL, NULL));
  require(!clFinish(queues[0]));
}

static void make_buffer(void)
{
  const cl_mem_flags flags = draw_flags();
  const bool needs_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
  const size_t few = one_in(4) ? 1 + below(MOST) : (1 + below(4)) * 1200 - below(60);
  if (free_slot() < &things[SLOTS])
    make_buffer_of(one_in(40)   ? 0
                   : one_in(40) ? SIZE_MAX / 2
                                : few,
                   flags, needs_host != one_in(40));
}

static void make_part(void)
{
  cl_buffer_region region;
  cl_int code;
  const cl_mem_flags flags = draw_flags();
  const cl_buffer_create_type type = CL_BUFFER_CREATE_TYPE_REGION + one_in(40);
  thing *of = draw(one_in(20) ? PART : BUFFER);
  draw_range(of->bytes, &region.origin, &region.size);
  region.origin -= one_in(8) ? 0 : region.origin % alignment;
  if (of->bytes > region.origin && one_in(2))
    region.size = of->bytes - region.origin + below(2) * below(60);
  if (free_slot() == &things[SLOTS])
    return;
  printf("part %zu of %zu: %zu bytes at %zu, flags %#zx, %#x", slot_of(free_slot()), slot_of(of),
         region.size, region.origin, (size_t)flags, type);
  cl_mem mem = clCreateSubBuffer(of->mem, flags, type, call.host ? &region : NULL, &code);
  printf(": %d", code);
  begin((thing){.mem = mem, .is = PART, .of = of, .bytes = region.size},
        region.origin <= of->bytes && region.size <= of->bytes - region.origin);
}

static void make_image(void)
{
  static const cl_image_format formats[] = {{CL_RGBA, CL_UNSIGNED_INT8}, {CL_RGBA, CL_FLOAT}};
  thing *of = one_in(3) ? &things[SLOTS] : draw(BUFFER | PART);
  const size_t format = below(2), pixel = format ? 16 : 4;
  const bool is_line = one_in(20) != (of->mem != NULL);
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
  printf("image %zu of %zu: %zu %zu, %d, of %zu, flags %#zx", slot_of(free_slot()), slot_of(of),
         width, height, is_line, pixel, (size_t)flags);
  cl_mem mem = clCreateImage(context, flags, &formats[format], &desc, NULL, &code);
  printf(": %d", code);
  if (begin((thing){mem, IMAGE, of->mem ? of : NULL, 0, width, height, pixel, 0, 0, 0},
            !of->mem || pixel * width * height <= of->bytes) &&
      !of->mem)
    require(!clEnqueueFillImage(queues[0], mem, host, (const size_t[3]){0},
                                (const size_t[3]){width, height, 1}, 0, NULL, NULL));
  require(!clFinish(queues[0]));
}

static void retain(void)
{
  thing *it = draw(ANY);
  const cl_int code = clRetainMemObject(it->mem);
  printf("retain %zu: %d", slot_of(it), code);
  it->references += !code;
}

static atomic_uint called; /* destructor callbacks */
static size_t called_back[SLOTS * WATCHES];

static void CL_CALLBACK note_end(cl_mem mem, void *number)
{
  (void)mem;
  called_back[atomic_load(&called)] = (uintptr_t)number;
  atomic_fetch_add(&called, 1);
}

static void watch(void)
{
  thing *it = draw(ANY);
  void *number = (void *)(slot_of(it) * WATCHES + it->watches);
  if (it->watches == WATCHES || (is_pocl && it->of && it->is == IMAGE)) /* PoCL never calls */
    return;
  const cl_int code =
      clSetMemObjectDestructorCallback(it->mem, call.host ? note_end : NULL, number);
  printf("watch %zu, %d: %d", slot_of(it), call.host != NULL, code);
  it->watches += !code;
}

/* With the last reference to it, and to its parts, an object ends. */
static void release_one(thing *it)
{
  unsigned expected = 0;
  const cl_int code = clReleaseMemObject(it->mem);
  printf("release %zu: %d", slot_of(it), code);
  it->references -= !code;
  while (it && it->mem && it->references == 0 && it->parts == 0) {
    thing *of = it->of;
    expected += it->watches;
    *it = (thing){0};
    it = of;
    if (of)
      of->parts--;
  }
  for (unsigned turns = TURNS; turns > 0 && atomic_load(&called) < expected; turns--)
    sched_yield();
  const unsigned count = atomic_load(&called);
  for (unsigned i = 0; i < count; i++)
    printf(", called %zu", called_back[i]);
  atomic_fetch_sub(&called, count);
}

static void release(void)
{
  release_one(draw(ANY));
}

/* Of an image, a row. Sometimes all that has the memory is released while it is mapped. */
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
  printf("map %zu: %zu at %zu, as %zu", slot_of(it), bytes, offset, (size_t)flags);
  void *at =
      it->is == IMAGE
          ? clEnqueueMapImage(call.queue, it->mem, call.blocking, flags,
                              (const size_t[]){offset, 0, 0}, (const size_t[]){bytes, 1, 1},
                              &pitches[0], &pitches[1], call.count, call.list, call.event, &code)
          : clEnqueueMapBuffer(call.queue, it->mem, call.blocking, flags, offset, bytes, call.count,
                               call.list, call.event, &code);
  if (end_call(code))
    return;
  printf(", %zu %zu, %u maps, %u references", pitches[0], pitches[1],
         await_count(it, CL_MEM_MAP_COUNT, 1),
         await_count(it, CL_MEM_REFERENCE_COUNT, it->references + it->parts + 1));
  bytes *= it->is == IMAGE ? it->pixel : 1;
  if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
    memcpy(at, host, bytes);
  memcpy(host, at, bytes);
  call.queue = queues[0];
  call.event = NULL;
  if (one_in(4))
    ENQUEUE(clEnqueueUnmapMemObject, it->mem, host);
  call.count = call.list != NULL;
  const bool is_watched = it->watches > 0 || (it->of && it->of->watches > 0);
  const bool stays = one_in(6) && flags == CL_MAP_READ && !is_watched;
  it->parts += stays || ENQUEUE(clEnqueueUnmapMemObject, it->mem, at); /* it may never end */
  for (thing *of = it; of && stays; of = of->of) {
    bytes = of->bytes;
    while (of->references > 0)
      release_one(of);
  }
  if (stays && bytes > 0 && free_slot() < &things[SLOTS])
    make_buffer_of(bytes, 0, false);
}

static void ask(void)
{
  union {
    const void *pointer;
    unsigned char bytes[16];
  } answer = {NULL};
  const thing *it = draw(ANY);
  const bool is_image = it->is == IMAGE && one_in(2);
  const cl_uint what = (is_image ? CL_IMAGE_FORMAT : CL_MEM_TYPE) + (cl_uint)below(12);
  const size_t room = one_in(8) ? below(8) : sizeof(answer);
  void *to = one_in(8) ? NULL : memset(&answer, 0, sizeof(answer));
  size_t size = 99;
  (void)await_count(it, CL_MEM_REFERENCE_COUNT, it->references + it->parts);
  const cl_int code = is_image ? clGetImageInfo(it->mem, what, room, to, &size)
                               : clGetMemObjectInfo(it->mem, what, room, to, &size);
  printf("ask %zu: %#x, room %zu, %d: %d, %zu:", slot_of(it), what, room, to != NULL, code, size);
  if (what == CL_MEM_HOST_PTR || what == CL_MEM_CONTEXT || what == CL_MEM_ASSOCIATED_MEMOBJECT ||
      what == CL_IMAGE_BUFFER)
    printf(" %s", !answer.pointer                           ? "NULL"
                  : answer.pointer == context               ? "context"
                  : it->of && answer.pointer == it->of->mem ? "whole"
                  : answer.pointer == backing[slot_of(it)]  ? "memory"
                                                            : "pointer");
  else
    for (size_t i = 0; to && i < sizeof(answer); i++)
      printf(" %x", answer.bytes[i]);
}

/* --- sequences --- */

static const struct {
  size_t weight;
  void (*take)(void);
} steps[] = {{44, use_range}, {14, map},         {26, use_box},   {16, use_image},
             {3, migrate},    {50, make_buffer}, {20, make_part}, {10, make_image},
             {3, retain},     {26, release},     {4, watch},      {14, ask}};

static void take_step(void)
{
  size_t i = 0;
  draw_call();
  for (size_t left = below(230); left >= steps[i].weight; i++)
    left -= steps[i].weight;
  steps[i].take();
  uint64_t hash = 0, word;
  for (size_t at = 0; at < ROOM; at += sizeof(word)) {
    memcpy(&word, host + at, sizeof(word));
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  printf(", %016llx\n", (unsigned long long)hash);
}

static void run(unsigned seed)
{
  printf("sequence %u\n", seed);
  chance = clpt_chance_seed(seed);
  context = open_context();
  queues[0] = open_queue(context, 0);
  queues[1] = open_queue(context, 0);
  require(!clEnqueueMarkerWithWaitList(queues[0], 0, NULL, &past_event) && !clFinish(queues[0]));
  for (unsigned i = 0; i < CALLS; i++) {
    printf("%u ", i);
    take_step();
  }
  for (thing *it = things; it < &things[SLOTS]; it++)
    while (it->references > 0)
      release_one(it);
  putchar('\n');
  memset(things, 0, sizeof(things));
  require(!clReleaseEvent(past_event));
  require(!clReleaseCommandQueue(queues[0]) && !clReleaseCommandQueue(queues[1]));
  require(!clReleaseContext(context));
}

void random_calls(unsigned first, unsigned count)
{
  char name[64] = "";
  cl_platform_id platform;
  cl_uint bits = 0;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  require(!clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL));
  (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
  is_pocl = strcmp(name, "Portable Computing Language") == 0;
  require(!clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  alignment = bits / 8;
  other_context = open_context();
  other_queue = open_queue(other_context, 0);
  for (unsigned i = 0; i < count; i++)
    run(first + i);
  require(!clReleaseCommandQueue(other_queue) && !clReleaseContext(other_context));
}
