/* SPDX-License-Identifier: MIT */
/* Made-up stacks and names. */
#include "profiles.h"

#include "suite.h"

#include <stdio.h>

static _Thread_local struct {
  const uintptr_t *addresses;
  size_t count;
} stack;
static const clpt_name *known;
atomic_size_t clpt_open_sessions, clpt_lookups;

void clpt_set_stack(const uintptr_t *addresses, size_t count)
{
  stack.addresses = addresses;
  stack.count = count;
}

void clpt_walk(clpi_frame_visitor *visitor, void *argument)
{
  for (size_t i = stack.count; i > 0; i--)
    visitor(stack.addresses[i - 1], argument);
}

void clpt_set_names(const clpt_name *names)
{
  known = names;
}

/* Without Check's assertions, which need host memory: tests take that away. */

static clp_status open_session(void **session)
{
  *session = NULL;
  clpt_open_sessions++;
  return CLP_SUCCESS;
}

static void close_session(void *session)
{
  (void)session;
  clpt_open_sessions--;
}

static clp_status show(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                       void *argument)
{
  const clpt_name *name = known;
  clp_status status = CLP_SUCCESS;
  (void)session;
  clpt_lookups++;
  while (name && name->address && name->address != address)
    name++;
  if (!name || !name->address) {
    clpi_symbol symbol = {
        .file = "p.c", .line = (int)address, .function = "f", .object = "p", .offset = address};
    return visitor(&symbol, argument);
  }
  for (; name->address == address && !status; name++)
    status = visitor(&name->symbol, argument);
  return status;
}

const clpi_symbols clpt_symbols = {open_session, show, close_session, false};

clp_line_profile *clpt_profile(unsigned max_depth)
{
  clp_line_profile *profile;
  clpt_ok(clp_line_profile_create(max_depth, &profile));
  profile->walk = clpt_walk;
  profile->symbols = &clpt_symbols;
  return profile;
}

void clpt_take_buffer(clp_line_profile *profile, size_t used, size_t acquired, uint64_t id)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.size = used, .mem_size = used};
  hook->malloc_preprocess(&event, hook->user_data);
  if (acquired) {
    clp_hook_event call = {.mem_size = acquired, .memory = 1};
    hook->alloc_postprocess(&call, hook->user_data);
  }
  event.memory = event.buffer_id = id;
  hook->malloc_postprocess(&event, hook->user_data);
}

void clpt_take(clp_line_profile *profile, size_t used, size_t acquired)
{
  clpt_take_buffer(profile, used, acquired, 0);
}

void clpt_release(clp_line_profile *profile, uint64_t id)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.memory = id, .buffer_id = id};
  hook->free_preprocess(&event, hook->user_data);
}

typedef clp_status view_writer(clp_line_profile *profile, clp_line_profile_view view, FILE *file);

static char *written(clp_line_profile *profile, clp_line_profile_view view, view_writer *write)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(file);
  clpt_ok(write(profile, view, file));
  fclose(file);
  return text;
}

/* The first view has functions of its own. */
static clp_status print(clp_line_profile *profile, clp_line_profile_view view, FILE *file)
{
  return view ? clp_line_profile_print_view(profile, view, file)
              : clp_line_profile_print(profile, file);
}

static clp_status fold(clp_line_profile *profile, clp_line_profile_view view, FILE *file)
{
  return view ? clp_line_profile_write_folded_view(profile, view, file)
              : clp_line_profile_write_folded(profile, file);
}

char *clpt_printed_view(clp_line_profile *profile, clp_line_profile_view view)
{
  return written(profile, view, print);
}

char *clpt_folded_view(clp_line_profile *profile, clp_line_profile_view view)
{
  return written(profile, view, fold);
}

char *clpt_printed(clp_line_profile *profile)
{
  return clpt_printed_view(profile, CLP_VIEW_SUMS);
}

char *clpt_folded(clp_line_profile *profile)
{
  return clpt_folded_view(profile, CLP_VIEW_SUMS);
}

static void compare_and_free(char *text, const char *expected)
{
  ck_assert_str_eq(text, expected);
  free(text);
}

void clpt_prints_view(clp_line_profile *profile, clp_line_profile_view view, const char *expected)
{
  compare_and_free(clpt_printed_view(profile, view), expected);
}

void clpt_folds_view(clp_line_profile *profile, clp_line_profile_view view, const char *expected)
{
  compare_and_free(clpt_folded_view(profile, view), expected);
}

void clpt_prints(clp_line_profile *profile, const char *expected)
{
  clpt_prints_view(profile, CLP_VIEW_SUMS, expected);
}

void clpt_folds(clp_line_profile *profile, const char *expected)
{
  clpt_folds_view(profile, CLP_VIEW_SUMS, expected);
}
