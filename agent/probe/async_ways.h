/* SPDX-License-Identifier: GPL-2.0-only */
/* The ways in which one thread wakes another: one struct way each. */
#ifndef RTSCOPE_ASYNC_WAYS_H
#define RTSCOPE_ASYNC_WAYS_H

#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* A sender and a receiver, and what they share. */
struct pair {
	const struct way *way;
	unsigned int turn;
	bool same_cpu;
	unsigned int sender_cpu;

	uint32_t waiting;  /* 1: the receiver is about to wait; the sender takes it back */
	bool ended;	   /* nothing more is sent */
	uint64_t stamp_ns; /* of the message under way; 0: none */
	uint64_t due_ns;   /* that the sender ended at */
	uint64_t recorded;
	uint64_t missed;
	uint64_t not_waiting; /* as the sender saw */

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t word;
	int fd[2]; /* to read from, to write to */
	sem_t semaphore;
	mqd_t queue;
} __attribute__((aligned(64)));

struct way {
	const char *names[2];		  /* of its series: sender on another CPU, on the same */
	const char *kernel_option;	  /* without which open() fails with ENOSYS */
	const char *limit;		  /* for which it fails with EMFILE */
	int (*open)(struct pair *pair);	  /* 0 or -1 with errno */
	bool (*ready)(struct pair *pair); /* whether the receiver waits: then it must be sent to */
	void (*send)(struct pair *pair);  /* wakes a receiver for which ready() held */
	void (*end)(struct pair *pair);	  /* wakes it in any state, @ended being set; may be send */
	void (*wait)(struct pair *pair);  /* announces itself, returns when it was woken */
};

#define WAYS 6

extern const struct way async_ways[WAYS];

/* Their names in the same order, then "all" and NULL. */
extern const char *const async_way_names[WAYS + 2];

#endif
