/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include "blocks.h"
#include "core/pool/leaving.h"
#include "dispatch.h"
#include "exact.h"
#include "queue.h"
#include "references.h"

#include <clpool/bin.h>
#include <clpool/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

/* --- what is pooled --- */

/* Why an object is not pooled: the name, and its text in the report. */
#define REASONS(X)                                                                                 \
  X(HOST_POINTER, "host pointer")                                                                  \
  X(PROPERTIES, "properties")                                                                      \
  X(LAYOUT, "pitches, mip levels or samples")                                                      \
  X(EXTENSION, "after an extension's function")                                                    \
  X(CONTEXT, "several devices or OpenCL before 1.2")                                               \
  X(OWN_POOL, "for the program's own pools")                                                       \
  X(OTHER, "other")

#define NAME(name, text) name,
typedef enum reason { REASONS(NAME) REASON_COUNT, POOLED = REASON_COUNT } reason;
#undef NAME

/* Objects that the driver has made and that are not pooled: buffers and images. */
static atomic_size_t others[2][REASON_COUNT];

/* Large buffers have little padding: less than 1 in 2^LARGE_BITS. */
static size_t round_up(size_t bytes)
{
  enum { LARGE_BYTES = 1 << 20, LARGE_BITS = 6 };
  unsigned bits = clpi_leading_bits;
  if (bytes >= LARGE_BYTES)
    bits = MAX(bits, (unsigned)LARGE_BITS);
  return clp_bin_size(bits, clp_bin_number(bits, bytes));
}

/* False: images with this descriptor are not pooled. It reads only members that matter for the
 * type, because the program need not set the others. */
static bool image_key(clpi_kind_key *key, const cl_image_format *format, const cl_image_desc *desc)
{
  if (!format || !desc || desc->image_row_pitch || desc->image_slice_pitch ||
      desc->num_mip_levels || desc->num_samples || desc->buffer)
    return false;
  const cl_mem_object_type type = desc->image_type;
  const bool has_layers =
      type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  const bool has_rows = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                        type == CL_MEM_OBJECT_IMAGE3D;
  key->type = type;
  key->format = *format;
  key->width = desc->image_width;
  key->height = has_rows ? desc->image_height : 0;
  key->depth = type == CL_MEM_OBJECT_IMAGE3D ? desc->image_depth : 0;
  key->layers = has_layers ? desc->image_array_size : 0;
  return has_rows || has_layers || type == CL_MEM_OBJECT_IMAGE1D;
}

/* The kind of the object, if it is pooled; a buffer's bytes are rounded up. */
static reason find_kind(const clpi_request *wanted, const clpi_context *context, clpi_kind_key *key)
{
  *key = (clpi_kind_key){.type = CL_MEM_OBJECT_BUFFER, .flags = wanted->flags};
  if (wanted->is_svm)
    return OTHER;
  if (wanted->host || (wanted->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
    return HOST_POINTER;
  if (wanted->properties)
    return PROPERTIES;
  if (clpi_leaves_buffers)
    return OWN_POOL;
  if (clpi_contexts_stopped)
    return EXTENSION;
  if (!context)
    return CONTEXT;
  if (wanted->is_image)
    return image_key(key, wanted->format, wanted->desc) ? POOLED : LAYOUT;
  if (wanted->bytes == 0 || wanted->bytes > context->max_block_bytes)
    return OTHER;
  key->width = MIN(round_up(wanted->bytes), context->max_block_bytes);
  return POOLED;
}

/* --- calls that run out of memory --- */

/* Other threads may hold and take memory again each time, so there is a bound on calls, too. */
enum { TURNS = 10000, MOST_CALLS = 16 };

_Thread_local bool clpi_leaves_buffers;

clpi_attempt clpi_attempt_begin(void)
{
  return (clpi_attempt){.returned = clpi_blocks_returned, .turns = TURNS};
}

bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context)
{
  if (!clpi_layer_is_lack(code) || attempt->turns == 0)
    return false;
  clpi_contexts_trim();
  uint64_t now = clpi_blocks_returned;
  if (now == attempt->returned)
    return false;
  attempt->returned = now;
  bool waits = context && !clpi_leaves_buffers;
  unsigned left = waits ? clpi_order_await(context, attempt->turns) : attempt->turns;
  attempt->turns = left < TURNS / MOST_CALLS ? 0 : left - TURNS / MOST_CALLS;
  return true;
}

/* --- making --- */

/* Held blocks make room under the limit and the bound. Without any, only the limit counts. */
static clp_status allocate(clpi_context *context, const clpi_kind *kind, clp_buffer **out,
                           uint64_t *born)
{
  clp_status status;
  while ((status = clpi_order_allocate(context, kind->number, out, born)) == CLP_LIMIT_EXCEEDED &&
         !clpi_account_passes_bound)
    clpi_account_passes_bound = !clpi_blocks_free_oldest(context);
  clpi_account_passes_bound = false;
  return status;
}

/* Returns a block of the context's pool. NULL: there is none. If `*code` is then CL_SUCCESS, which
 * it is before, ask the driver; otherwise return it to the program, because of a limit. `bytes` are
 * a buffer's; images have the bytes of their kind. */
static cl_mem take(clpi_context *context, const clpi_kind_key *key, size_t bytes, cl_int *code)
{
  const clpi_kind *kind = clpi_kind_get(&context->kinds, key);
  clpi_account *account = &context->account;
  clp_buffer *buffer;
  uint64_t born;
  if (!kind)
    return NULL;
  *code = CL_SUCCESS;
  clp_status status = allocate(context, kind, &buffer, &born);
  bool is_told = status == CLP_OUT_OF_DEVICE_MEMORY &&
                 (context->more_flags || account->limit_bytes != SIZE_MAX);
  if (is_told || status == CLP_LIMIT_EXCEEDED)
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (status)
    return NULL;
  cl_mem block = clp_buffer_cl_mem(buffer);
  clpi_mem *mem = clpi_mem_find(block);
  mem->buffer = buffer;
  mem->bytes = bytes ? bytes : kind->bytes;
  mem->block_bytes = kind->bytes;
  mem->born = born;
  atomic_store_explicit(&mem->was_mapped, false, memory_order_relaxed);
  clpi_account_add(account, mem->bytes, mem->block_bytes);
  atomic_fetch_add_explicit(&account->served[bytes == 0], 1, memory_order_relaxed);
  atomic_store_explicit(&mem->references, 1, memory_order_relaxed);
  clpi_blocks_trim(context);
  return block;
}

/* If a rounded size does not fit into the limit, the requested one may. */
static cl_mem take_or_take_less(clpi_context *context, const clpi_kind_key *key, size_t bytes,
                                cl_int *code)
{
  cl_mem made = take(context, key, bytes, code);
  if (made || !*code || key->type != CL_MEM_OBJECT_BUFFER)
    return made;
  clpi_kind_key less = *key;
  less.width = bytes;
  return take(context, &less, bytes, code);
}

cl_mem clpi_create(const clpi_request *wanted, cl_int *code)
{
  clpi_context *context = clpi_context_find(wanted->context);
  clpi_kind_key key;
  const reason why = find_kind(wanted, context, &key);
  clpi_attempt attempt = clpi_attempt_begin();
  cl_mem made;
  do {
    *code = CL_SUCCESS;
    made = why == POOLED ? take_or_take_less(context, &key, wanted->bytes, code) : NULL;
    if (made || *code)
      continue;
    made = wanted->make(wanted, code);
    if (made && !wanted->is_svm && !(wanted->is_image && wanted->desc->buffer))
      others[wanted->is_image][why == POOLED ? OTHER : why]++;
  } while (*code && clpi_attempt_again(&attempt, *code, context));
  return clpi_exact_image(wanted, made, code);
}

/* --- references --- */

/* Whether the driver must end the buffer itself after the last reference: it calls the program
 * back, or knows the memory as mapped. */
static bool must_leave(const clpi_mem *mem)
{
  cl_uint maps = 0;
  if (mem->is_watched)
    return true;
  return mem->was_mapped && (clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_MAP_COUNT,
                                                             sizeof(maps), &maps, NULL) ||
                             maps > 0);
}

/* Drops the driver's last reference here, not inside the pool: the driver may then call the program
 * back, which may wait for threads that need the pool or the lock of drivers. */
static void leave(const clpi_mem *mem)
{
  cl_mem handle = mem->handle;
  bool is_kept = !clpi_target->clRetainMemObject(handle);
  clpi_buffer_give_back(mem->buffer);
  if (is_kept)
    clpi_target->clReleaseMemObject(handle);
}

/* The next owner may have the block as soon as it is released. */
static void end_block(const clpi_mem *mem)
{
  clpi_context *context = mem->context;
  const bool must_trim = context->account.hold_bytes != SIZE_MAX;
  if (must_trim)
    context->users++; /* the block may be its last one */
  clpi_account_drop(&context->account, mem->bytes, mem->block_bytes);
  if (must_leave(mem))
    leave(mem);
  else
    clpi_order_release(context, mem->buffer, mem->born);
  if (must_trim) {
    clpi_blocks_trim(context);
    clpi_context_drop_user(context);
  }
  clpi_contexts_sweep();
}

static cl_int release_part(clpi_mem *part)
{
  cl_mem handle = part->handle;
  clpi_mem *whole = part->whole;
  size_t references = clpi_references_drop(&part->references);
  if (references == 1) {
    (void)clpi_mem_take(handle);
    if (must_leave(part))
      whole->is_watched = true;
  }
  cl_int code = clpi_target->clReleaseMemObject(handle);
  if (references != 1)
    return code;
  free(part);
  whole->parts--;
  (void)clpi_mem_release(whole);
  return code;
}

void clpi_mem_map(cl_mem handle)
{
  for (clpi_mem *mem = clpi_mem_find(handle); mem; mem = mem->whole)
    mem->was_mapped = true;
}

cl_int clpi_mem_release(clpi_mem *mem)
{
  if (mem->whole)
    return release_part(mem);
  size_t references = clpi_references_drop(&mem->references);
  if (references == 1)
    end_block(mem);
  return references > 0 ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

/* --- the report --- */

/* "2 host pointer, 1 properties", and how many they are. */
static size_t describe_others(bool is_image, char *to, size_t room)
{
#define TEXT(name, text) text,
  static const char *const texts[] = {REASONS(TEXT)};
#undef TEXT
  size_t sum = 0, length = 0;
  *to = '\0';
  for (size_t i = 0; i < REASON_COUNT; i++) {
    size_t count = others[is_image][i];
    if (count > 0)
      length += (size_t)snprintf(to + length, room - length, "%s%zu %s", sum ? ", " : "", count,
                                 texts[i]);
    sum += count;
  }
  return sum;
}

void clpi_report(void)
{
  const clpi_account total = clpi_contexts_total();
  size_t served = 0, fresh = 0;
  for (int i = 0; i < 2; i++) {
    char whys[512];
    const size_t rest = describe_others(i, whys, sizeof(whys));
    clpi_layer_complain("%s: %zu from held memory, %zu from new memory, %zu not pooled%s%s%s",
                        i ? "images" : "buffers", total.served[i] - total.fresh[i], total.fresh[i],
                        rest, rest ? " (" : "", whys, rest ? ")" : "");
    served += total.served[i];
    fresh += total.fresh[i];
  }
  clpi_layer_complain("hit rate %.1f %%; peak %zu bytes in use, %zu bytes taken; %zu bytes held at "
                      "the end",
                      served ? 100.0 * (double)(served - fresh) / (double)served : 0.0,
                      total.peak_live_bytes, total.peak_taken_bytes,
                      total.taken_bytes - total.active_bytes);
}
