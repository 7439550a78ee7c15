/* SPDX-License-Identifier: MIT */
/* What a pool does for array expressions: each intermediate result is a fresh array, so the price
 * of memory is paid several times an expression. Times one expression with memory from the two
 * allocators alone and from a pool on each, after a check of the results against the host. */
#include "array.h"
#include "check.h"
#include "measure.h"

#include <clpool/opencl.h>
#include <getopt.h>
#include <math.h>

enum { DEFAULT_REPEAT = 25, MOST_REPEAT = 100000, TEMPORARIES = 5 };
enum { DEFERRED, IMMEDIATE, POOL_ON_DEFERRED, POOL_ON_IMMEDIATE, CONTESTANTS };

/* One way to get memory, with the arrays that the expression starts from. */
typedef struct contestant {
  const char *name;
  array_allocator from;
  array *x, *y;
  double *microseconds; /* of each repetition */
} contestant;

typedef struct options {
  size_t elements; /* 0: the sizes of default_sizes */
  size_t repeat;
} options;

static const size_t default_sizes[] = {1u << 10, 1u << 16, 1u << 22}; /* 4 KiB to 16 MiB */

/* --- The expression --- */

/* sqrt(2x + 3y + x/2). Each temporary is let go of as soon as the next is under way: the queue does
 * its work in order, so whoever gets the memory next comes after it. */
static array *root_expression(const array *x, const array *y)
{
  array *scaled = array_axpby(2.0f, x, 3.0f, y);
  array *shifted = array_axpby(1.0f, scaled, 0.5f, x);
  array_release(scaled);
  array *root = array_sqrt(shifted);
  array_release(shifted);
  return root;
}

/* Its sum, which takes two temporaries more. */
static float expression(const array *x, const array *y)
{
  array *root = root_expression(x, y);
  float sum = array_sum(root);
  array_release(root);
  return sum;
}

/* The same on the host. */
static const float y_value = 0.25f;

static float x_value(size_t i)
{
  return (float)(i % 1000) / 1000.0f;
}

static double root_on_host(size_t i)
{
  return sqrt(2.5 * (double)x_value(i) + 3.0 * (double)y_value);
}

/* --- Right results --- */

static void expect_near(const char *what, double found, double expected, double tolerance)
{
  if (fabs(found - expected) <= tolerance * fabs(expected))
    return;
  fprintf(stderr, "%s is %.9g on the device, %.9g on the host\n", what, found, expected);
  exit(EXIT_FAILURE);
}

static void check_results(const contestant *with)
{
  size_t elements = with->x->elements;
  float *found = check_malloc(elements * sizeof(*found));
  double sum = 0.0;
  array *root = root_expression(with->x, with->y);
  array_read(root, found);
  array_release(root);
  for (size_t i = 0; i < elements; i++) {
    expect_near("an element", (double)found[i], root_on_host(i), 1e-5);
    sum += root_on_host(i);
  }
  expect_near("the sum", (double)expression(with->x, with->y), sum, 1e-4);
  free(found);
}

/* --- Times --- */

static double time_expression(const contestant *with)
{
  double start = now_in_microseconds();
  (void)expression(with->x, with->y); /* its sum is read back, so all its work is done */
  return now_in_microseconds() - start;
}

/* The contestants take turns, so that a machine that slows down slows them all. */
static void time_contestants(contestant contestants[CONTESTANTS], size_t repeat)
{
  for (size_t i = 0; i < repeat; i++)
    for (int j = 0; j < CONTESTANTS; j++)
      contestants[j].microseconds[i] = time_expression(&contestants[j]);
}

/* --- The table --- */

static void print_head(const contestant contestants[CONTESTANTS], size_t repeat)
{
  printf("sum(sqrt(2x + 3y + x/2)) with %d temporaries: microseconds per expression, the median\n"
         "of %zu, and in brackets how many times that of the pool on the immediate allocator.\n\n",
         TEMPORARIES, repeat);
  printf("%10s %8s", "elements", "KiB");
  for (int i = 0; i < CONTESTANTS; i++)
    printf(" %18s", contestants[i].name);
  printf("\n");
}

static void print_row(contestant contestants[CONTESTANTS], size_t elements, size_t repeat)
{
  double medians[CONTESTANTS];
  for (int i = 0; i < CONTESTANTS; i++)
    medians[i] = median(contestants[i].microseconds, repeat);
  printf("%10zu %8zu", elements, elements * sizeof(float) / 1024);
  for (int i = 0; i < CONTESTANTS; i++)
    printf(" %8.1f (%5.2f x)", medians[i], medians[i] / medians[POOL_ON_IMMEDIATE]);
  printf("\n");
  fflush(stdout);
}

static void print_device_allocations(const contestant *pooled)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_get_stats(pooled->from.pool, &stats));
  printf("%s: %llu arrays, %llu device allocations\n", pooled->name,
         (unsigned long long)stats.allocations, (unsigned long long)stats.device_allocations);
}

/* --- The run --- */

static void create_arrays(array_device *device, contestant *with, size_t elements)
{
  float *values = check_malloc(elements * sizeof(*values));
  for (size_t i = 0; i < elements; i++)
    values[i] = x_value(i);
  with->x = array_create(device, &with->from, elements);
  array_write(with->x, values);
  with->y = array_create(device, &with->from, elements);
  array_fill(with->y, y_value);
  free(values);
}

static void run_size(array_device *device, contestant contestants[CONTESTANTS], size_t elements,
                     size_t repeat)
{
  for (int i = 0; i < CONTESTANTS; i++) {
    create_arrays(device, &contestants[i], elements);
    check_results(&contestants[i]); /* and warms up */
  }
  time_contestants(contestants, repeat);
  print_row(contestants, elements, repeat);
  for (int i = 0; i < CONTESTANTS; i++) {
    array_release(contestants[i].x);
    array_release(contestants[i].y);
  }
}

static void create_contestants(cl_context context, cl_command_queue queue, size_t repeat,
                               contestant contestants[CONTESTANTS])
{
  clp_allocator *deferred, *immediate;
  clp_pool *pool_on_deferred, *pool_on_immediate;
  CHECK(clp_cl_deferred_allocator_create(context, CL_MEM_READ_WRITE, &deferred));
  CHECK(clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &immediate));
  CHECK(clp_pool_create(deferred, NULL, &pool_on_deferred));
  CHECK(clp_pool_create(immediate, NULL, &pool_on_immediate));
  contestants[DEFERRED] = (contestant){.name = "deferred", .from.bare = deferred};
  contestants[IMMEDIATE] = (contestant){.name = "immediate", .from.bare = immediate};
  contestants[POOL_ON_DEFERRED] =
      (contestant){.name = "pool on deferred", .from.pool = pool_on_deferred};
  contestants[POOL_ON_IMMEDIATE] =
      (contestant){.name = "pool on immediate", .from.pool = pool_on_immediate};
  for (int i = 0; i < CONTESTANTS; i++)
    contestants[i].microseconds = check_malloc(repeat * sizeof(double));
}

static void release_contestants(contestant contestants[CONTESTANTS])
{
  for (int i = 0; i < CONTESTANTS; i++) {
    free(contestants[i].microseconds);
    clp_pool_release(contestants[i].from.pool);
    clp_allocator_release(contestants[i].from.bare);
  }
}

static void run(cl_context context, cl_command_queue queue, const options *chosen)
{
  contestant contestants[CONTESTANTS];
  create_contestants(context, queue, chosen->repeat, contestants);
  array_device *device = array_device_create(queue);

  print_head(contestants, chosen->repeat);
  if (chosen->elements)
    run_size(device, contestants, chosen->elements, chosen->repeat);
  else
    for (size_t i = 0; i < sizeof(default_sizes) / sizeof(default_sizes[0]); i++)
      run_size(device, contestants, default_sizes[i], chosen->repeat);
  printf("\nAll results agree with the host's.\n");
  print_device_allocations(&contestants[POOL_ON_DEFERRED]);
  print_device_allocations(&contestants[POOL_ON_IMMEDIATE]);

  array_device_release(device);
  release_contestants(contestants);
}

/* --- The command line --- */

static void end_with_usage(int code)
{
  fputs("usage: array_expressions [--elements=N] [--repeat=N]\n", code ? stderr : stdout);
  exit(code);
}

static options read_options(int argc, char **argv)
{
  static const struct option known[] = {{"elements", required_argument, NULL, 'e'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {0}};
  static char name[] = "array_expressions";
  argv[0] = name; /* getopt's errors begin with it */
  options chosen = {.repeat = DEFAULT_REPEAT};
  int option;
  while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
    if (option == 'e')
      chosen.elements = read_count("elements", optarg, SIZE_MAX / sizeof(float));
    else if (option == 'r')
      chosen.repeat = read_count("repeat", optarg, MOST_REPEAT);
    else
      end_with_usage(option == 'h' ? EXIT_SUCCESS : 2);
  }
  if (optind < argc)
    end_with_usage(2);
  return chosen;
}

int main(int argc, char **argv)
{
  options chosen = read_options(argc, argv);
  cl_int code;
  cl_device_id device = pick_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check_cl(code, "clCreateCommandQueue");
  run(context, queue, &chosen);
  CHECK_CL(clReleaseCommandQueue(queue));
  CHECK_CL(clReleaseContext(context));
  return EXIT_SUCCESS;
}
