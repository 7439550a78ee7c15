/* SPDX-License-Identifier: MIT */
/* A chain of matrix products by CLBlast, in the manner of a network's layers: each product is a new
 * buffer, which is let go of once the next product is under way, and in its larger calls CLBlast
 * takes one more for itself. Times the chain with all of these from the driver, with the products
 * from a pool, and with CLBlast's own from there, too (CLBlastSgemmWithTempBuffer), after a check
 * of the results against the host. */
#include "check.h"
#include "measure.h"
#include "opencl_device.h"

#include <clblast_c.h>
#include <clpool/clpool.h>
#include <clpool/opencl.h>
#include <getopt.h>
#include <math.h>
#include <stdatomic.h>

enum { DEFAULT_LINKS = 8, MOST_LINKS = 64, DEFAULT_REPEAT = 9, MOST_REPEAT = 100000 };
enum { MOST_ROWS = 1 << 14 };
enum { DRIVER, PRODUCTS_POOLED, ALL_POOLED, CONTESTANTS };

static const size_t default_rows[] = {64, 256, 1024};

/* Where matrices come from. */
typedef struct contestant {
  const char *name;
  clp_allocator *bare;
  clp_pool *pool;       /* NULL: straight from `bare` */
  int brings_temporary; /* CLBlast is given its buffer */
  int is_watched;       /* memory of `bare` is counted */
  double *microseconds; /* of each repetition */
} contestant;

typedef struct matrix {
  cl_mem mem;
  clp_buffer *buffer; /* NULL without a pool */
} matrix;

/* first * weights[0] * weights[1] ... Matrices are stored row by row, without gaps. */
typedef struct chain {
  cl_command_queue queue;
  size_t rows;                   /* of `first` and of all products */
  size_t links;                  /* how many weights there are */
  size_t widths[MOST_LINKS + 1]; /* weights[i] has widths[i] rows of widths[i + 1] */
  cl_mem first, weights[MOST_LINKS];
} chain;

/* --- Matrices --- */

/* Bytes of watched memory that the driver has not done with, and the most of them. */
static atomic_size_t in_use;
static size_t peak;

static void CL_CALLBACK end_watch(cl_mem mem, void *bytes)
{
  (void)mem;
  atomic_fetch_sub(&in_use, *(size_t *)bytes);
  free(bytes);
}

/* Memory is the driver's until the work on it is done, however early its last reference goes. */
static void begin_watch(cl_mem mem, size_t bytes)
{
  size_t *kept = check_malloc(sizeof(*kept));
  *kept = bytes;
  size_t now = atomic_fetch_add(&in_use, bytes) + bytes;
  if (peak < now)
    peak = now;
  CHECK_CL(clSetMemObjectDestructorCallback(mem, end_watch, kept));
}

static matrix take(contestant *from, size_t bytes)
{
  matrix taken = {.buffer = NULL};
  if (from->pool) {
    CHECK(clp_pool_allocate(from->pool, bytes, &taken.buffer));
    taken.mem = clp_buffer_cl_mem(taken.buffer);
    return taken;
  }
  clp_memory memory;
  CHECK(clp_allocator_allocate(from->bare, bytes, &memory));
  taken.mem = (cl_mem)memory;
  if (from->is_watched)
    begin_watch(taken.mem, bytes);
  return taken;
}

/* The work on it may still be under way: the next one to get this block from the pool has its work
 * done later on the same queue. */
static void give_back(matrix taken)
{
  if (taken.buffer)
    CHECK(clp_buffer_release(taken.buffer));
  else
    CHECK_CL(clReleaseMemObject(taken.mem));
}

/* --- The chain --- */

static void check_blast(CLBlastStatusCode code, const char *call)
{
  if (code == CLBlastSuccess)
    return;
  fprintf(stderr, "%s: CLBlast's error %d\n", call, (int)code);
  exit(EXIT_FAILURE);
}

static size_t bytes_of(const chain *of, size_t rows, size_t link)
{
  return rows * of->widths[link] * sizeof(cl_float);
}

/* product = x * weights[link], where CLBlast takes what it needs in between by itself. */
static void multiply(chain *of, size_t link, cl_mem x, cl_mem product)
{
  size_t k = of->widths[link], n = of->widths[link + 1];
  check_blast(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, of->rows,
                           n, k, 1.0f, x, 0, k, of->weights[link], 0, n, 0.0f, product, 0, n,
                           &of->queue, NULL),
              "CLBlastSgemm");
}

/* The same, where it is given that. For small products it needs nothing. */
static void multiply_within(chain *of, size_t link, cl_mem x, cl_mem product, contestant *from)
{
  size_t k = of->widths[link], n = of->widths[link + 1], bytes = 0;
  check_blast(CLBlastSGemmTempBufferSize(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                         CLBlastTransposeNo, of->rows, n, k, 0, k, 0, n, 0, n,
                                         &of->queue, &bytes),
              "CLBlastSGemmTempBufferSize");
  if (bytes == 0) {
    multiply(of, link, x, product);
    return;
  }
  matrix temporary = take(from, bytes);
  check_blast(CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                         CLBlastTransposeNo, of->rows, n, k, 1.0f, x, 0, k,
                                         of->weights[link], 0, n, 0.0f, product, 0, n, &of->queue,
                                         NULL, temporary.mem),
              "CLBlastSgemmWithTempBuffer");
  give_back(temporary);
}

/* The last product, which is the caller's. Its work may still be under way. */
static matrix run_chain(chain *run, contestant *with)
{
  matrix x = {.mem = run->first};
  for (size_t link = 0; link < run->links; link++) {
    matrix product = take(with, bytes_of(run, run->rows, link + 1));
    if (with->brings_temporary)
      multiply_within(run, link, x.mem, product.mem, with);
    else
      multiply(run, link, x.mem, product.mem);
    if (link > 0)
      give_back(x);
    x = product;
  }
  return x;
}

/* --- Its values, and right results --- */

/* Of matrix number `which`: from -0.5 to 0.5, and the same for the device and the host. */
static float value(size_t which, size_t i)
{
  return (float)((i * 2654435761u + which * 40503u) % 1021) / 1020.0f - 0.5f;
}

/* Weights are so large that values keep their size from link to link. */
static float scale_of(const chain *of, size_t link)
{
  return sqrtf(12.0f / (float)of->widths[link]);
}

static cl_mem upload(const chain *to, size_t which, float scale, size_t bytes)
{
  cl_context context;
  cl_int code;
  size_t count = bytes / sizeof(float);
  float *values = check_malloc(bytes);
  for (size_t i = 0; i < count; i++)
    values[i] = scale * value(which, i);
  CHECK_CL(clGetCommandQueueInfo(to->queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, NULL));
  cl_mem mem =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, values, &code);
  check_cl(code, "clCreateBuffer");
  free(values);
  return mem;
}

/* Row `row` of the last product, in what malloc gave. */
static double *row_on_host(const chain *of, size_t row)
{
  double *x = check_malloc(of->widths[0] * sizeof(*x));
  for (size_t i = 0; i < of->widths[0]; i++)
    x[i] = (double)value(0, row * of->widths[0] + i);
  for (size_t link = 0; link < of->links; link++) {
    size_t k = of->widths[link], n = of->widths[link + 1];
    double *product = check_malloc(n * sizeof(*product));
    for (size_t j = 0; j < n; j++) {
      product[j] = 0.0;
      for (size_t i = 0; i < k; i++)
        product[j] += x[i] * (double)(scale_of(of, link) * value(link + 1, i * n + j));
    }
    free(x);
    x = product;
  }
  return x;
}

/* The last row, so that all of each product has a part in it that is beyond the first tile. */
static void check_result(chain *of, contestant *with)
{
  size_t width = of->widths[of->links], row = of->rows - 1;
  double *expected = row_on_host(of, row);
  float *found = check_malloc(width * sizeof(*found));
  matrix last = run_chain(of, with);
  CHECK_CL(clEnqueueReadBuffer(of->queue, last.mem, CL_TRUE, row * width * sizeof(*found),
                               width * sizeof(*found), found, 0, NULL, NULL));
  give_back(last);
  for (size_t i = 0; i < width; i++)
    if (!(fabs((double)found[i] - expected[i]) <= 1e-3)) {
      fprintf(stderr, "%s: an element is %.9g, on the host %.9g\n", with->name, (double)found[i],
              expected[i]);
      exit(EXIT_FAILURE);
    }
  free(found);
  free(expected);
}

/* --- Times and peaks --- */

typedef struct options {
  size_t rows; /* 0: those of default_rows */
  size_t links, repeat;
} options;

static double time_chain(chain *run, contestant *with)
{
  double start = now_in_microseconds();
  matrix last = run_chain(run, with);
  CHECK_CL(clFinish(run->queue));
  double took = now_in_microseconds() - start;
  give_back(last);
  return took;
}

/* The most that one chain has from the driver at once, CLBlast's part included. */
static size_t peak_of(chain *run, const contestant *with)
{
  contestant watched = {.bare = with->bare, .brings_temporary = 1, .is_watched = 1};
  peak = atomic_load(&in_use);
  give_back(run_chain(run, &watched));
  CHECK_CL(clFinish(run->queue));
  return peak;
}

static clp_pool_stats stats_of(const contestant *pooled)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_get_stats(pooled->pool, &stats));
  return stats;
}

static void print_row(chain *run, contestant contestants[CONTESTANTS], size_t repeat)
{
  double medians[CONTESTANTS];
  for (int i = 0; i < CONTESTANTS; i++)
    medians[i] = median(contestants[i].microseconds, repeat);
  printf("%6zu", run->rows);
  for (int i = 0; i < CONTESTANTS; i++)
    printf(" %10.0f (%4.2f x)", medians[i], medians[i] / medians[DRIVER]);
  printf(" %8.2f %8.2f\n", (double)peak_of(run, &contestants[DRIVER]) / (1 << 20),
         (double)stats_of(&contestants[ALL_POOLED]).peak_managed_bytes / (1 << 20));
  fflush(stdout);
}

/* --- The run --- */

static void create_chain(cl_command_queue queue, size_t rows, size_t links, chain *made)
{
  *made = (chain){.queue = queue, .rows = rows, .links = links};
  for (size_t i = 0; i <= links; i++)
    made->widths[i] = rows - i % 4 * (rows / 4); /* 1, 3/4, 1/2, 1/4, 1, ... of the rows */
  made->first = upload(made, 0, 1.0f, bytes_of(made, rows, 0));
  for (size_t i = 0; i < links; i++)
    made->weights[i] =
        upload(made, i + 1, scale_of(made, i), bytes_of(made, made->widths[i], i + 1));
}

static void release_chain(chain *made)
{
  CHECK_CL(clReleaseMemObject(made->first));
  for (size_t i = 0; i < made->links; i++)
    CHECK_CL(clReleaseMemObject(made->weights[i]));
}

/* The contestants take turns, so that a machine that slows down slows them all. */
static void run_rows(cl_command_queue queue, contestant contestants[CONTESTANTS], size_t rows,
                     const options *chosen)
{
  chain run;
  create_chain(queue, rows, chosen->links, &run);
  for (int i = 0; i < CONTESTANTS; i++) {
    if (contestants[i].pool) {
      CHECK(clp_pool_free_held(contestants[i].pool));
      CHECK(clp_pool_reset_peaks(contestants[i].pool));
    }
    check_result(&run, &contestants[i]); /* and warms up */
  }
  for (size_t i = 0; i < chosen->repeat; i++)
    for (int j = 0; j < CONTESTANTS; j++)
      contestants[j].microseconds[i] = time_chain(&run, &contestants[j]);
  print_row(&run, contestants, chosen->repeat);
  release_chain(&run);
}

static void create_contestants(cl_context context, cl_command_queue queue, size_t repeat,
                               contestant contestants[CONTESTANTS])
{
  static const char *const names[CONTESTANTS] = {"driver", "products pooled", "all pooled"};
  for (int i = 0; i < CONTESTANTS; i++) {
    contestant *made = &contestants[i];
    *made = (contestant){.name = names[i], .brings_temporary = i == ALL_POOLED};
    made->microseconds = check_malloc(repeat * sizeof(double));
    if (i == DRIVER) {
      CHECK(clp_cl_deferred_allocator_create(context, CL_MEM_READ_WRITE, &made->bare));
    } else {
      CHECK(clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &made->bare));
      CHECK(clp_pool_create(made->bare, NULL, &made->pool));
    }
  }
}

static void release_contestants(contestant contestants[CONTESTANTS])
{
  for (int i = 0; i < CONTESTANTS; i++) {
    free(contestants[i].microseconds);
    clp_pool_release(contestants[i].pool);
    clp_allocator_release(contestants[i].bare);
  }
}

static void run(cl_context context, cl_command_queue queue, const options *chosen)
{
  contestant contestants[CONTESTANTS];
  create_contestants(context, queue, chosen->repeat, contestants);
  printf(
      "%zu products in a row: microseconds, the median of %zu, and as a multiple of the driver's;"
      "\nmost MiB taken from the driver at once, by one chain without a pool, and by the pool.\n"
      "\n%6s",
      chosen->links, chosen->repeat, "rows");
  for (int i = 0; i < CONTESTANTS; i++)
    printf(" %19s", contestants[i].name);
  printf(" %8s %8s\n", "driver", "pool");
  if (chosen->rows)
    run_rows(queue, contestants, chosen->rows, chosen);
  else
    for (size_t i = 0; i < sizeof(default_rows) / sizeof(default_rows[0]); i++)
      run_rows(queue, contestants, default_rows[i], chosen);
  clp_pool_stats stats = stats_of(&contestants[ALL_POOLED]);
  printf(
      "\nAll results agree with the host's.\nall pooled: %llu buffers, %llu device allocations\n",
      (unsigned long long)stats.allocations, (unsigned long long)stats.device_allocations);
  release_contestants(contestants);
}

/* --- The command line --- */

static void end_with_usage(int code)
{
  fputs("usage: clblast_chain [--links=N] [--repeat=N] [--rows=N]\n", code ? stderr : stdout);
  exit(code);
}

static options read_options(int argc, char **argv)
{
  static const struct option known[] = {{"help", no_argument, NULL, 'h'},
                                        {"links", required_argument, NULL, 'l'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {"rows", required_argument, NULL, 'n'},
                                        {0}};
  static char name[] = "clblast_chain";
  argv[0] = name; /* getopt's errors begin with it */
  options chosen = {.links = DEFAULT_LINKS, .repeat = DEFAULT_REPEAT};
  int option;
  while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
    if (option == 'l')
      chosen.links = read_count("links", optarg, MOST_LINKS);
    else if (option == 'n')
      chosen.rows = read_count("rows", optarg, MOST_ROWS);
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
