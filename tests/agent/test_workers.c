// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has counted makes room for a member that takes long, for that may need this CPU, and goes on
 * with his work, for that may wait for it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/workers.h"
#include "proc/thread.h"
#include "unit.h"

#define MEMBERS	    2
#define SLOT_NS	    NSEC_PER_MSEC
#define PATIENCE_NS (10 * NSEC_PER_SEC)

static struct control control = { .until_ns = UINT64_MAX };
static int quick_tid;
static uint64_t pieces;
static bool done; /* what the second member waits for, in time */

static uint64_t work_quickly(struct member *, void *)
{
	__atomic_store_n(&quick_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	__atomic_add_fetch(&pieces, 1, __ATOMIC_RELEASE);
	return 1;
}

/* As a write that is not done before the other's CPU is free. */
static uint64_t wait_for_the_other(struct member *, void *)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	struct thread other = { 0 };

	while (!done && clock_now_ns() < until_ns)
		done = thread_read(__atomic_load_n(&quick_tid, __ATOMIC_ACQUIRE), &other) &&
		       other.state == 'S';
	return 1;
}

/* As one who was stopped for long before the answer that he waits for. */
static uint64_t wait_for_an_answer(struct member *, void *)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS, before;

	clock_sleep_until(clock_now_ns() + 50 * SLOT_NS);
	before = __atomic_load_n(&pieces, __ATOMIC_ACQUIRE);
	while (!done && clock_now_ns() < until_ns)
		done = __atomic_load_n(&pieces, __ATOMIC_ACQUIRE) != before;
	return 1;
}

static void *serve(void *measuring)
{
	workers_serve(measuring);
	return NULL;
}

/* Both members' work for one slot. */
static void work_together(uint64_t (*first)(struct member *, void *),
			  uint64_t (*second)(struct member *, void *))
{
	struct measuring coordinator = { .control = &control };
	struct measuring measuring[MEMBERS] = {
		{ .control = &control, .index = 0 },
		{ .control = &control, .index = 1 },
	};
	pthread_t thread[MEMBERS];

	done = false;
	quick_tid = 0;
	assert_int_equal(workers_init(MEMBERS), 0);
	workers_lead(&coordinator);
	workers_member(0)->job = (struct job){ .work = first };
	workers_member(1)->job = (struct job){ .work = second };
	for (unsigned int i = 0; i < MEMBERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, serve, &measuring[i]), 0);
	assert_true(workers_work((const unsigned int[]){ 0, 1 }, MEMBERS, SLOT_NS));
	workers_dismiss(true);
	for (unsigned int i = 0; i < MEMBERS; i++)
		pthread_join(thread[i], NULL);
	assert_true(measuring[0].completed && measuring[1].completed);
	free(workers_member(0));
}

TEST(a_member_sleeps_while_another_takes_long)
{
	work_together(work_quickly, wait_for_the_other);
	assert_true(done);
}

TEST(a_member_gets_his_answer_however_late_he_asks)
{
	work_together(work_quickly, wait_for_an_answer);
	assert_true(done);
}

UNIT_TESTS(NULL, NULL)
