/* SPDX-License-Identifier: MIT */
/* Rows are formatted by hand: printf would take most of the time of an allocation. */
#include "hooks/trace_file.h"

#include "core/base/fork.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { ROW_BYTES = 256 /* more than the longest row */, NAME_BYTES = 64 };

/* --- rows --- */

/* Each writes at `to` and returns the end of what it wrote. */

/* The last `count` digits, in place: a division by a base that is known here is none. */
static char *put_last_decimals(char *to, uint64_t value, unsigned count)
{
  for (unsigned i = count; i > 0; i--) {
    to[i - 1] = (char)('0' + value % 10);
    value /= 10;
  }
  return to + count;
}

static char *put_decimal(char *to, uint64_t value)
{
  unsigned count = 1;
  for (uint64_t rest = value; rest > 9; rest /= 10)
    count++;
  return put_last_decimals(to, value, count);
}

static char *put_address(char *to, uint64_t value)
{
  const unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 1;
  *to++ = '0';
  *to++ = 'x';
  for (unsigned left = (bits + 3) / 4; left > 0; left--)
    *to++ = "0123456789abcdef"[value >> (4 * (left - 1)) & 15];
  return to;
}

/* Exactly `count` digits, and a separator. */
static char *put_fixed(char *to, long value, unsigned count, char separator)
{
  to = put_last_decimals(to, (uint64_t)value, count);
  *to = separator;
  return to + 1;
}

/* The time of day, in UTC, because local time jumps at daylight saving. */
static char *put_time(char *to)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long seconds = (long)(now.tv_sec % (24 * 60 * 60));
  to = put_fixed(to, seconds / (60 * 60), 2, ':');
  to = put_fixed(to, seconds / 60 % 60, 2, ':');
  to = put_fixed(to, seconds % 60, 2, '.');
  return put_fixed(to, now.tv_nsec / 1000, 6, ',');
}

/* Returns how many bytes of a name go into a row. A UTF-8 character is not cut, because readers may
 * refuse a part of one. */
static size_t cut_name(const char *name)
{
  size_t length = strnlen(name, NAME_BYTES);
  while (length > 0 && (name[length] & 0xc0) == 0x80)
    length--;
  return length;
}

/* Writes text as in CSV: in quotation marks if it has commas or quotation marks, which are doubled.
 * Characters that end a line become spaces. */
static char *put_name(char *to, const char *name)
{
  bool is_quoted = strpbrk(name, ",\"");
  if (is_quoted)
    *to++ = '"';
  for (size_t i = 0, length = cut_name(name); i < length; i++) {
    if (name[i] == '"')
      *to++ = '"';
    *to++ = iscntrl((unsigned char)name[i]) ? ' ' : name[i];
  }
  if (is_quoted)
    *to++ = '"';
  return to;
}

static uint64_t thread_number(void)
{
  static _Thread_local struct {
    pid_t number;
    unsigned forks;
  } thread __attribute__((tls_model("initial-exec")));
  if (!thread.number || clpi_is_inherited(thread.forks))
    thread.number = (pid_t)syscall(SYS_gettid); /* gettid: not before glibc 2.30 */
  thread.forks = clpi_relaxed(clpi_forks);
  return (uint64_t)thread.number;
}

/* --- writing --- */

void clpi_trace_file_fail(clpi_trace_file *self, int code)
{
  self->failure = self->failure ? self->failure : code;
}

int clpi_trace_file_code(void)
{
  return errno ? errno : EIO;
}

/* Writes the buffer and returns how many bytes were written. An interrupted write is continued, but
 * not on a caller's file: stdio may drop its own buffer on failure, so bytes would be lost. */
static size_t write_buffer(clpi_trace_file *self)
{
  size_t done = 0;
  while (done < self->filled) {
    errno = 0;
    done += fwrite(self->buffer + done, 1, self->filled - done, self->file);
    if (done == self->filled)
      break;
    if (!self->is_own || errno != EINTR) {
      clpi_trace_file_fail(self, clpi_trace_file_code());
      break;
    }
    clearerr(self->file);
  }
  return done;
}

void clpi_trace_file_flush(clpi_trace_file *self)
{
  size_t done = self->failure ? 0 : write_buffer(self);
  self->written += done;
  self->filled = 0;
}

void clpi_trace_file_stop(clpi_trace_file *self, int code)
{
  clpi_trace_file_flush(self);
  clpi_trace_file_fail(self, code);
}

/* Returns the place of the next line, which has at most `bytes` bytes. */
static char *make_room(clpi_trace_file *self, size_t bytes)
{
  if (self->filled > CLPI_TRACE_BUFFER_BYTES - bytes)
    clpi_trace_file_flush(self);
  return self->buffer + self->filled;
}

static void end_line(clpi_trace_file *self, char *to)
{
  *to++ = '\n';
  self->filled = (size_t)(to - self->buffer);
}

static void define_frame(uint32_t number, uint32_t caller, const char *text, void *file)
{
  char *to = stpcpy(make_room(file, ROW_BYTES + CLPI_FRAME_BYTES), "#frame ");
  to = put_decimal(to, number);
  *to++ = ' ';
  to = put_decimal(to, caller);
  *to++ = ' ';
  end_line(file, stpcpy(to, text));
}

/* The number of a stack, once its frames are defined. */
static uint32_t number_stack(clpi_trace_file *self, const clpi_frames *stack)
{
  bool has_tree = self->frames.nodes || (stack && clpi_call_tree_init(&self->frames));
  return stack && has_tree ? clpi_frames_number(stack, &self->frames, define_frame, self) : 0;
}

void clpi_trace_file_put(clpi_trace_file *self, const clpi_trace_row *row)
{
  uint32_t stack = number_stack(self, row->stack);
  char *to = make_room(self, ROW_BYTES);
  to = put_decimal(to, thread_number());
  *to++ = ',';
  to = put_time(to);
  to = stpcpy(to, row->action);
  *to++ = ',';
  to = put_address(to, row->memory);
  *to++ = ',';
  to = put_decimal(to, row->bytes);
  *to++ = ',';
  to = row->stream ? put_address(to, row->stream) : stpcpy(to, "0");
  if (self->columns & CLPI_TRACE_KIND) {
    *to++ = ',';
    to = put_decimal(to, row->context);
    *to++ = ',';
    to = stpcpy(to, row->kind);
    *to++ = ',';
    to = put_address(to, row->flags);
  }
  if (self->columns & CLPI_TRACE_POOL)
    *to++ = ',';
  if (self->columns & CLPI_TRACE_POOL && row->pool)
    to = put_name(to, row->pool);
  if (self->columns & CLPI_TRACE_STACK) {
    *to++ = ',';
    to = put_decimal(to, stack);
  }
  end_line(self, to);
}

static void put_header(clpi_trace_file *self)
{
  static const char *const names[] = {",Context,Kind,Flags", ",Pool", ",Stack"};
  char *to = stpcpy(self->buffer, "Thread,Time,Action,Pointer,Size,Stream");
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (self->columns >> i & 1)
      to = stpcpy(to, names[i]);
  end_line(self, to);
}

void clpi_trace_file_begin(clpi_trace_file *self, FILE *file, bool is_own, unsigned columns)
{
  memset(self, 0, offsetof(clpi_trace_file, buffer));
  self->file = file;
  self->is_own = is_own;
  self->columns = columns;
  if (is_own)
    setvbuf(file, NULL, _IONBF, 0);
  put_header(self);
}

void clpi_trace_file_end(clpi_trace_file *self)
{
  clpi_call_tree_end(&self->frames);
}

void clpi_trace_file_add_column(clpi_trace_file *self, unsigned column)
{
  bool is_there = self->columns & column;
  if (is_there || (self->written && (!self->is_own || fseeko(self->file, 0, SEEK_SET))))
    return;
  self->written = 0;
  self->columns |= column;
  put_header(self);
}
