/* SPDX-License-Identifier: MIT */
/* A second process for tests. */
#include "other_process.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 99 };

/* The socket's end is at CLPT_OTHER_SOCKET, and not closed by exec. */
static void become(const char *argument, int end)
{
  char program[4096] = "";

  /* By its name: under valgrind, /proc/self/exe leads to that and reads as the program. */
  (void)!readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (end == CLPT_OTHER_SOCKET)
    (void)fcntl(end, F_SETFD, 0);
  else
    (void)dup2(end, CLPT_OTHER_SOCKET);
  execl(program, "other process", argument, (char *)NULL);
  _exit(NOT_STARTED);
}

pid_t clpt_other_start(const char *argument, int *socket)
{
  int ends[2];
  pid_t process;

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return -1;
  process = fork();
  if (process == 0)
    become(argument, ends[1]);
  close(ends[1]);
  if (process < 0)
    close(ends[0]);
  *socket = ends[0];
  return process;
}

bool clpt_other_succeeded(pid_t process)
{
  int status;

  return waitpid(process, &status, 0) == process && WIFEXITED(status) &&
         WEXITSTATUS(status) == EXIT_SUCCESS;
}

typedef union fd_message {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr align;
} fd_message;

static struct msghdr message_of(struct iovec *part, fd_message *control)
{
  return (struct msghdr){.msg_iov = part,
                         .msg_iovlen = 1,
                         .msg_control = control->bytes,
                         .msg_controllen = sizeof(control->bytes)};
}

bool clpt_send_with_fd(int socket, const void *bytes, size_t count, int fd)
{
  struct iovec part = {(void *)(uintptr_t)bytes, count};
  fd_message control = {{0}};
  struct msghdr message = message_of(&part, &control);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);

  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(fd));
  memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)count;
}

bool clpt_receive_with_fd(int socket, void *bytes, size_t count, int *fd)
{
  struct iovec part = {bytes, count};
  fd_message control = {{0}};
  struct msghdr message = message_of(&part, &control);
  bool received = recvmsg(socket, &message, MSG_WAITALL) == (ssize_t)count;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

  if (!received || header == NULL || header->cmsg_type != SCM_RIGHTS)
    return false;
  memcpy(fd, CMSG_DATA(header), sizeof(*fd));
  return true;
}
