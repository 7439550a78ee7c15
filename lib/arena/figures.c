/* SPDX-License-Identifier: MIT */
/* The arena's own calls: the reserve, the figures, and the dump. */
#include "arena/arena.h"
#include "core/base/cancel.h"
#include "core/base/options.h"

#include <errno.h>
#include <stdlib.h>

/* Reading figures changes nothing that the program sees, so these calls take a const allocator.
 * Inside, they take the lock. */
static clp_status arena_of(const clp_allocator *allocator, const char *function, clpi_arena **found)
{
  if (!allocator)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: arena is NULL", function);
  if (allocator->ops.destroy != clpi_arena_destroy)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: allocator %s is not an arena", function,
                      allocator->name);
  *found = allocator->self;
  return clpi_allocator_check(allocator, function);
}

clp_status clp_arena_reserve(clp_allocator *arena, size_t bytes)
{
  CLPI_UNCANCELLED;
  clpi_arena *found = NULL;
  clp_status status = arena_of(arena, "clp_arena_reserve", &found);
  return status ? status : clpi_arena_fill_reserve(found, &bytes);
}

static clp_arena_stats figures_locked(clpi_arena *arena)
{
  const clpi_segments *segments = &arena->segments;
  clpi_loop_leave_locked(arena);
  clp_arena_stats stats = {
      .segments = segments->count,
      .reserved_bytes = segments->reserved_bytes,
      .used_bytes = segments->used_bytes,
      .used_blocks = segments->used_count,
      .peak_reserved_bytes = arena->peak_reserved_bytes,
      .peak_used_bytes = arena->peak_used_bytes,
      .segments_taken = arena->segments_taken,
      .segments_given_back = arena->segments_given_back,
      .reserve_bytes = arena->reserve_bytes,
      .repeated_blocks = arena->loop.served,
  };
  for (size_t i = 0; i < segments->count; i++) {
    stats.free_segments += !segments->all[i]->block_count;
    for (const clpi_range *range = segments->all[i]->free; range; range = range->higher) {
      stats.free_ranges++;
      stats.largest_free_bytes = MAX(stats.largest_free_bytes, range->bytes);
    }
  }
  size_t free_bytes = stats.reserved_bytes - stats.used_bytes;
  if (free_bytes)
    stats.fragmentation = 1.0 - (double)stats.largest_free_bytes / (double)free_bytes;
  return stats;
}

clp_status clp_arena_get_stats(const clp_allocator *arena, clp_arena_stats *stats)
{
  CLPI_UNCANCELLED;
  clpi_arena *found = NULL;
  clp_status status = arena_of(arena, "clp_arena_get_stats", &found);
  if (status)
    return status;
  if (!stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_arena_get_stats: stats is NULL");
  clpi_arena_lock(found);
  clp_arena_stats figures = figures_locked(found);
  clpi_arena_unlock(found);
  size_t least = offsetof(clp_arena_stats, segments) + sizeof(stats->segments);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_arena_stats");
}

/* --- the dump --- */

static void write_figures(FILE *file, const clp_arena_stats *stats)
{
  fprintf(file,
          "{\"segments\": %zu, \"free_segments\": %zu, \"reserved_bytes\": %zu, "
          "\"used_bytes\": %zu, \"used_blocks\": %zu, \"free_ranges\": %zu, "
          "\"largest_free_bytes\": %zu, \"fragmentation\": %.6f, "
          "\"peak_reserved_bytes\": %zu, \"peak_used_bytes\": %zu, "
          "\"segments_taken\": %llu, \"segments_given_back\": %llu, "
          "\"reserve_bytes\": %zu, \"repeated_blocks\": %llu,\n\"map\": [",
          stats->segments, stats->free_segments, stats->reserved_bytes, stats->used_bytes,
          stats->used_blocks, stats->free_ranges, stats->largest_free_bytes, stats->fragmentation,
          stats->peak_reserved_bytes, stats->peak_used_bytes,
          (unsigned long long)stats->segments_taken, (unsigned long long)stats->segments_given_back,
          stats->reserve_bytes, (unsigned long long)stats->repeated_blocks);
}

static void write_segment(FILE *file, const clpi_segment *segment)
{
  size_t used_bytes = 0;
  for (const clpi_range *range = segment->first; range; range = range->after)
    used_bytes += range->is_used ? range->bytes : 0;
  fprintf(file, "{\"bytes\": %zu, \"used_bytes\": %zu, \"ranges\": [", segment->bytes, used_bytes);
  for (const clpi_range *range = segment->first; range; range = range->after)
    fprintf(file, "%s\n  {\"offset\": %zu, \"bytes\": %zu, \"used\": %s}", range->before ? "," : "",
            range->offset, range->bytes, range->is_used ? "true" : "false");
  fputs("]}", file);
}

static void write_locked(FILE *file, clpi_arena *arena)
{
  clp_arena_stats stats = figures_locked(arena);
  write_figures(file, &stats);
  for (size_t i = 0; i < arena->segments.count; i++) {
    fputs(i ? ",\n" : "\n", file);
    write_segment(file, arena->segments.all[i]);
  }
  fputs("]}\n", file);
}

/* The arena as text, for free(); NULL: no host memory. */
static char *describe(clpi_arena *arena)
{
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);
  if (!file)
    return NULL;
  clpi_arena_lock(arena);
  write_locked(file, arena);
  clpi_arena_unlock(arena);
  if (!fclose(file))
    return text;
  free(text);
  return NULL;
}

clp_status clp_arena_dump(const clp_allocator *arena, FILE *file)
{
  CLPI_UNCANCELLED;
  clpi_arena *found = NULL;
  clp_status status = arena_of(arena, "clp_arena_dump", &found);
  if (status)
    return status;
  if (!file)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_arena_dump: file is NULL");
  char *text = describe(found);
  if (!text)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to describe an arena");
  /* A buffered file reports a full disk only when the buffer is written. */
  bool is_written = fputs(text, file) >= 0 && fflush(file) == 0;
  int error = errno;
  free(text);
  return is_written ? CLP_SUCCESS
                    : clpi_error(CLP_IO_ERROR, error, "clp_arena_dump: the file cannot be written");
}
