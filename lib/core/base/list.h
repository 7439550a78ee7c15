/* SPDX-License-Identifier: MIT */
/* Circular doubly linked lists, intrusive: each object contains its link. */
#ifndef CLPOOL_CORE_BASE_LIST_H
#define CLPOOL_CORE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_list {
  struct clpi_list *next;
  struct clpi_list *previous;
} clpi_list;

/* The object of `type` whose link `member` is at `link`. */
#define clpi_list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* Iterates over a list. The body must not remove objects. */
#define clpi_list_each(type, object, list, member)                                                 \
  for (type *object = clpi_list_entry((list)->next, type, member);                                 \
       (char *)object + offsetof(type, member) != (const char *)(list);                            \
       object = clpi_list_entry(object->member.next, type, member))

static inline void clpi_list_init(clpi_list *list)
{
  list->next = list->previous = list;
}

static inline bool clpi_list_is_empty(const clpi_list *list)
{
  return list->next == list;
}

static inline void clpi_list_push_back(clpi_list *list, clpi_list *link)
{
  link->next = list;
  link->previous = list->previous;
  list->previous->next = link;
  list->previous = link;
}

static inline void clpi_list_push_front(clpi_list *list, clpi_list *link)
{
  clpi_list_push_back(list->next, link);
}

static inline void clpi_list_remove(clpi_list *link)
{
  link->previous->next = link->next;
  link->next->previous = link->previous;
}

#endif
