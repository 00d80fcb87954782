// SPDX-License-Identifier: GPL-2.0-only
/* Who has counted makes room for a member that takes long: that may need this CPU. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "probe/crew.h"

#define MEMBERS	    2
#define SLOT_NS	    NSEC_PER_MSEC
#define PATIENCE_NS (10 * NSEC_PER_SEC)

static struct control control = { .until_ns = UINT64_MAX };
static int quick_tid;
static bool made_room;

static bool sleeps(int tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

static uint64_t count_quickly(struct member *member, void *context)
{
	(void)member;
	(void)context;
	__atomic_store_n(&quick_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return 1;
}

/* As a write that is not done before the other's CPU is free. */
static uint64_t wait_for_the_other(struct member *member, void *context)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	int tid;

	(void)member;
	(void)context;
	while (!made_room && clock_now_ns() < until_ns) {
		tid = __atomic_load_n(&quick_tid, __ATOMIC_ACQUIRE);
		made_room = tid && sleeps(tid);
	}
	return 1;
}

static void *serve(void *measuring)
{
	crew_serve(measuring);
	return NULL;
}

static void a_member_sleeps_while_another_takes_long(void **state)
{
	struct measuring conductor = { .control = &control };
	struct measuring measuring[MEMBERS] = {
		{ .control = &control, .index = 0 },
		{ .control = &control, .index = 1 },
	};
	pthread_t thread[MEMBERS];

	(void)state;
	assert_int_equal(crew_init(MEMBERS), 0);
	crew_lead(&conductor);
	crew_member(0)->job = (struct job){ .work = count_quickly };
	crew_member(1)->job = (struct job){ .work = wait_for_the_other };
	for (unsigned int i = 0; i < MEMBERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, serve, &measuring[i]), 0);
	assert_true(crew_work((const unsigned int[]){ 0, 1 }, MEMBERS, SLOT_NS));
	assert_true(made_room);
	crew_dismiss(true);
	for (unsigned int i = 0; i < MEMBERS; i++)
		pthread_join(thread[i], NULL);
	assert_true(measuring[0].completed && measuring[1].completed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_sleeps_while_another_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
