/* SPDX-License-Identifier: MIT */
/* A second process for tests: this program, started once more, with a socket between the two over
 * which bytes go together with a file descriptor. Nothing here asserts, as both sides use it. */
#ifndef CLPT_OTHER_PROCESS_H
#define CLPT_OTHER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Where the other process has its end of the socket. */
enum { CLPT_OTHER_SOCKET = 3 };

/** Starts it with one argument. Its process, and in *socket the caller's end, which is closed with
 * close(); -1: it cannot be started. */
pid_t clpt_other_start(const char *argument, int *socket);

/** Waits for its end; whether it ended with EXIT_SUCCESS. */
bool clpt_other_succeeded(pid_t process);

/** The descriptor stays the sender's, and becomes a new one at the receiver. */
bool clpt_send_with_fd(int socket, const void *bytes, size_t count, int fd);
bool clpt_receive_with_fd(int socket, void *bytes, size_t count, int *fd);

#endif
