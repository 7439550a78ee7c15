/* SPDX-License-Identifier: MIT */
/* Two processes and one piece of device memory. The first makes a memory pool that can be shared,
 * sends it over a socket as a file descriptor and fills memory of it; the second finds the content
 * and writes its own, which the first finds in turn. Nothing is copied between them. */
#include "check.h"
#include "cuda_driver.h"

#include <clpool/cuda_mempool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, BYTES = 1 << 20, QUESTION = 40, ANSWER = 42 };

/* --- The socket --- */

typedef union ancillary {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
} ancillary;

static void check_errno(int succeeded, const char *call)
{
  if (succeeded)
    return;
  perror(call);
  exit(EXIT_FAILURE);
}

/* The pool as a descriptor, and the memory as bytes. */
static void send_memory(int socket, int fd, const clp_cuda_shared_pointer *shared)
{
  ancillary with = {.room = {0}};
  struct iovec bytes = {(void *)shared, sizeof(*shared)};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = with.room,
                           .msg_controllen = sizeof(with.room)};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(fd));
  memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  check_errno(sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*shared), "sendmsg");
}

/* False: the other process has ended. */
static int receive_memory(int socket, int *fd, clp_cuda_shared_pointer *shared)
{
  ancillary with = {.room = {0}};
  struct iovec bytes = {shared, sizeof(*shared)};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = with.room,
                           .msg_controllen = sizeof(with.room)};
  ssize_t length = recvmsg(socket, &message, MSG_WAITALL);
  check_errno(length >= 0, "recvmsg");
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (length < (ssize_t)sizeof(*shared) || !header || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS || (message.msg_flags & MSG_CTRUNC))
    return 0;
  memcpy(fd, CMSG_DATA(header), sizeof(*fd));
  return 1;
}

/* --- Content --- */

static void fill(const cuda_driver *cu, unsigned long long memory, unsigned char byte)
{
  CHECK_CU(cu->memset_async(memory, byte, BYTES, CLP_CUDA_STREAM_LEGACY));
  CHECK_CU(cu->stream_synchronize(CLP_CUDA_STREAM_LEGACY));
}

/* Bytes that are not as they should be. */
static size_t count_wrong(const cuda_driver *cu, unsigned long long memory, unsigned char byte)
{
  unsigned char *bytes = check_malloc(BYTES);
  size_t wrong = 0;
  CHECK_CU(cu->read_async(bytes, memory, BYTES, CLP_CUDA_STREAM_LEGACY));
  CHECK_CU(cu->stream_synchronize(CLP_CUDA_STREAM_LEGACY));
  for (size_t i = 0; i < BYTES; i++)
    wrong += bytes[i] != byte;
  free(bytes);
  return wrong;
}

/* --- The processes --- */

static int import_and_answer(int socket)
{
  clp_cuda_shared_pointer shared;
  clp_cuda_mempool mempool;
  unsigned long long memory;
  int fd;
  if (!receive_memory(socket, &fd, &shared))
    return EXIT_SUCCESS; /* there is no CUDA: the other process says so */
  const cuda_driver *cu = open_cuda();
  CHECK(clp_cuda_mempool_import_fd(fd, &mempool));
  check_errno(close(fd) == 0, "close"); /* the pool no longer needs it */
  CHECK(clp_cuda_pointer_import(mempool, &shared, &memory));
  size_t wrong = count_wrong(cu, memory, QUESTION);
  fill(cu, memory, ANSWER);
  CHECK(clp_cuda_pointer_free(memory, CLP_CUDA_STREAM_LEGACY));
  CHECK_CU(cu->stream_synchronize(CLP_CUDA_STREAM_LEGACY));
  CHECK(clp_cuda_mempool_destroy(mempool));
  close_cuda(cu);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* An asynchronous pool on a memory pool that can be shared. */
static clp_cuda_async_pool *make_pool(clp_cuda_mempool *mempool)
{
  clp_cuda_mempool_options sharable = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_async_pool *pool;
  sharable.handle_types = CLP_CUDA_HANDLE_POSIX_FD;
  CHECK(clp_cuda_mempool_create(&sharable, mempool));
  options.mempools = mempool;
  options.mempool_count = 1;
  CHECK(clp_cuda_async_pool_create(&options, &pool));
  return pool;
}

static void export(int socket, clp_cuda_mempool mempool, unsigned long long memory)
{
  clp_cuda_shared_pointer shared;
  int fd;
  CHECK(clp_cuda_mempool_export_fd(mempool, &fd));
  CHECK(clp_cuda_pointer_export(memory, &shared));
  send_memory(socket, fd, &shared);
  check_errno(close(fd) == 0, "close"); /* the copy that was sent is the other's */
}

static int export_and_ask(int socket, pid_t other)
{
  clp_cuda_mempool mempool;
  unsigned long long memory;
  int end;
  const cuda_driver *cu = open_cuda();
  clp_cuda_async_pool *pool = make_pool(&mempool);
  CHECK(clp_cuda_async_pool_malloc(pool, BYTES, CLP_CUDA_STREAM_LEGACY, &memory));
  fill(cu, memory, QUESTION);
  export(socket, mempool, memory);
  check_errno(waitpid(other, &end, 0) == other, "waitpid"); /* it has freed its side by then */
  size_t wrong = count_wrong(cu, memory, ANSWER);
  CHECK(clp_cuda_async_pool_free(pool, memory, CLP_CUDA_STREAM_LEGACY));
  clp_cuda_async_pool_release(pool);
  CHECK(clp_cuda_mempool_destroy(mempool));
  close_cuda(cu);
  int is_asked = WIFEXITED(end) && WEXITSTATUS(end) == EXIT_SUCCESS;
  printf("the second process %s what the first wrote\n", is_asked ? "found" : "did not find");
  printf("the first process %s what the second wrote\n", wrong == 0 ? "found" : "did not find");
  return is_asked && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* CUDA does not survive a fork, so nobody touches it before. */
int main(int argc, char **argv)
{
  int ends[2];
  check_arguments(argc, argv, 0, "cuda_share");
  check_errno(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  pid_t other = fork();
  check_errno(other >= 0, "fork");
  check_errno(close(ends[other != 0]) == 0, "close");
  if (other == 0)
    return import_and_answer(ends[1]);
  return cuda_is_here() ? export_and_ask(ends[0], other) : EXIT_SKIPPED;
}
