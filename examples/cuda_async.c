/* SPDX-License-Identifier: MIT */
/* A pool on CUDA's stream-ordered allocator, and two streams. Frames are drawn on one stream and
 * kept on the other, while the host goes on; the pool sees to it that no frame is drawn over before
 * it is kept. In the end every frame must be as it was drawn. */
#include "check.h"
#include "cuda_driver.h"

#include <clpool/clpool.h>

enum { EXIT_SKIPPED = 77, FRAMES = 64, BYTES = 1 << 20 };

typedef struct studio {
  const cuda_driver *cu;
  clp_stream artist, archivist;
  clp_pool *pool;
  unsigned long long archive; /* a copy of each frame */
} studio;

/* Every byte of a frame is its number. */
static void draw(const studio *it, unsigned long long frame, int number)
{
  CHECK_CU(it->cu->memset_async(frame, (unsigned char)number, BYTES, it->artist));
}

/* Makes the archivist wait for what is drawn so far. */
static void hand_over(const studio *it)
{
  void *event;
  CHECK_CU(it->cu->event_create(&event, EVENT_DISABLE_TIMING));
  CHECK_CU(it->cu->event_record(event, it->artist));
  CHECK_CU(it->cu->stream_wait_event(it->archivist, event, 0));
  CHECK_CU(it->cu->event_destroy(event));
}

static void keep(const studio *it, unsigned long long frame, int number)
{
  unsigned long long place = it->archive + (unsigned long long)number * BYTES;
  CHECK_CU(it->cu->copy_async(place, frame, BYTES, it->archivist));
}

/* No call waits for a stream. */
static void make_film(const studio *it)
{
  for (int number = 0; number < FRAMES; number++) {
    clp_buffer *frame;
    CHECK(clp_pool_allocate_on(it->pool, BYTES, it->artist, &frame));
    draw(it, clp_buffer_cuda_pointer(frame), number);
    hand_over(it); /* the program orders its own reads and writes */
    keep(it, clp_buffer_cuda_pointer(frame), number);
    CHECK(clp_buffer_release_on(frame, it->archivist)); /* the pool orders the next use */
  }
}

/* Bytes of the archive that are not as they were drawn. */
static size_t count_wrong(const studio *it)
{
  unsigned char *bytes = check_malloc((size_t)FRAMES * BYTES);
  size_t wrong = 0;
  CHECK_CU(it->cu->read_async(bytes, it->archive, (size_t)FRAMES * BYTES, it->archivist));
  CHECK_CU(it->cu->stream_synchronize(it->archivist));
  for (size_t i = 0; i < (size_t)FRAMES * BYTES; i++)
    wrong += bytes[i] != i / BYTES;
  free(bytes);
  return wrong;
}

/* Streams are the program's: the pool forgets them before they go. */
static void end_stream(const studio *it, clp_stream stream)
{
  CHECK_CU(it->cu->stream_synchronize(stream));
  CHECK(clp_pool_forget_stream(it->pool, stream));
  CHECK_CU(it->cu->stream_destroy(stream));
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "cuda_async");
  if (!cuda_is_here())
    return EXIT_SKIPPED;
  studio it = {.cu = open_cuda()};
  clp_allocator *allocator;
  clp_buffer *archive;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK_CU(it.cu->stream_create(&it.artist, STREAM_NON_BLOCKING));
  CHECK_CU(it.cu->stream_create(&it.archivist, STREAM_NON_BLOCKING));
  CHECK(clp_cuda_async_allocator_create(NULL, &allocator));
  CHECK(clp_pool_create(allocator, NULL, &it.pool));
  CHECK(clp_pool_allocate_on(it.pool, (size_t)FRAMES * BYTES, it.archivist, &archive));
  it.archive = clp_buffer_cuda_pointer(archive);
  make_film(&it);
  size_t wrong = count_wrong(&it);
  CHECK(clp_buffer_release_on(archive, it.archivist));
  CHECK(clp_pool_get_stats(it.pool, &stats));
  printf("frames:             %d\n", FRAMES);
  printf("wrong bytes:        %zu\n", wrong);
  printf("device allocations: %llu\n", (unsigned long long)stats.device_allocations);
  end_stream(&it, it.artist);
  end_stream(&it, it.archivist);
  clp_pool_release(it.pool);
  clp_allocator_release(allocator);
  close_cuda(it.cu);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
