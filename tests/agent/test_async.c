// SPDX-License-Identifier: GPL-2.0-only
#include "probe/async.c" /* its pairs are its own */
#include "no_session.h"
#include "unit.h"

#define ROUNDS 9

static struct session_options session = { .seed = 1, .interval_ns = NSEC_PER_MSEC };

static void sleep_ns(uint64_t ns)
{
	clock_sleep_until(clock_now_ns() + ns);
}

static unsigned int waits;

static void return_at_once(struct pair *pair)
{
	record_set(pair->stamp_ns, clock_now_ns());
	pair->ended = ++waits == ROUNDS;
}

static void sleep_and_return(struct pair *pair)
{
	sleep_ns(NSEC_PER_MSEC);
	return_at_once(pair);
}

static void warm_up_only(struct pair *pair)
{
	sleep_and_return(pair);
	record_set(pair->stamp_ns, WARM_UP);
}

/* A warm-up message is neither a sample nor missed. */
TEST(only_a_message_to_a_sleeping_thread_is_a_sample)
{
	static const struct {
		void (*wait)(struct pair *pair);
		unsigned int samples, missed;
	} receivers[] = { { sleep_and_return, ROUNDS, 0 },
			  { return_at_once, 0, ROUNDS },
			  { warm_up_only, 0, 0 } };

	foreach (each, receivers) {
		struct way way = { .wait = each->wait };
		struct measuring measuring = leased(0);

		waits = 0;
		pairs[1] = (struct pair){ .way = &way };
		measuring.index = 3;
		receive_messages(&measuring);
		assert_int_equal(measuring.record.count, each->samples);
		assert_int_equal(measuring.record.missed, each->missed);
		assert_true(metric(&measuring, "not_waiting") == each->missed);
	}
}

static uint64_t asked_ns, stamp_at_send_ns;

static bool ready_now(struct pair *pair)
{
	(void)pair;
	asked_ns = clock_now_ns();
	return true;
}

static void note_stamp(struct pair *pair)
{
	stamp_at_send_ns = pair->stamp_ns;
}

TEST(the_clock_is_read_after_all_preparation_and_before_the_send)
{
	struct way way = { .ready = ready_now, .send = note_stamp };
	struct pair pair = { .way = &way };

	assert_true(send_one(&pair, 0));
	assert_true(stamp_at_send_ns >= asked_ns);
	assert_int_equal(pair.stamp_ns, stamp_at_send_ns);
}

/* Plan for CPUs 0 to @count - 1. */
static int planned(unsigned int via, unsigned int count, struct role *roles)
{
	struct cpus cpus = { .count = count };
	char error[256];

	for (unsigned int i = 0; i < count; i++)
		cpus.number[i] = (uint16_t)i;
	async.turns = 0;
	async.via = via;
	async.place = PLACE_BOTH;
	return plan(&session, &cpus, roles, error, sizeof(error));
}

TEST(no_two_pairs_that_share_a_cpu_send_at_one_time)
{
	static struct role roles[ROLES_MAX];

	for (unsigned int cpus = 1; cpus <= 5; cpus++) {
		int count = planned(WAYS, cpus, roles);

		assert_int_equal(count, (cpus == 1 ? 2 : 4 * cpus) * WAYS);
		for (int a = 0; a < count; a += 2) {
			for (int b = 0; b < a; b += 2)
				assert_true(pairs[a / 2].turn != pairs[b / 2].turn ||
					    (roles[a].cpu != roles[b].cpu &&
					     roles[a].cpu != roles[b + 1].cpu &&
					     roles[a + 1].cpu != roles[b].cpu &&
					     roles[a + 1].cpu != roles[b + 1].cpu));
		}
	}
}

TEST(pairs_of_one_seed_send_once_an_interval_with_random_pauses_and_in_order)
{
	struct pair first = { .turn = 0 }, second = { .turn = 1 };
	uint64_t random_first = 5, random_second = 5, a_ns, b_ns, start_ns;
	uint64_t shortest_ns = UINT64_MAX, longest_ns = 0;
	static struct role roles[ROLES_MAX];

	planned(0, 2, roles);
	start_ns = a_ns = first_turn_ns(&first, 1000, &random_first);
	b_ns = first_turn_ns(&second, 1000, &random_second);
	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t next_ns = next_turn_ns(a_ns, &random_first), pause_ns = next_ns - a_ns;

		assert_true(b_ns - a_ns >= async.pause_ns / 2);
		assert_true(next_ns - b_ns >= async.pause_ns / 2);
		shortest_ns = pause_ns < shortest_ns ? pause_ns : shortest_ns;
		longest_ns = pause_ns > longest_ns ? pause_ns : longest_ns;
		a_ns = next_ns;
		b_ns = next_turn_ns(b_ns, &random_second);
	}
	assert_in_range((a_ns - start_ns) / 100000, NSEC_PER_MSEC * 99 / 100,
			NSEC_PER_MSEC * 101 / 100);
	assert_in_range(shortest_ns, NSEC_PER_MSEC / 2, NSEC_PER_MSEC * 65 / 100);
	assert_in_range(longest_ns, NSEC_PER_MSEC * 135 / 100, NSEC_PER_MSEC * 3 / 2);
}

UNIT_TESTS(NULL, NULL)
