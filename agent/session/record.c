// SPDX-License-Identifier: GPL-2.0-only
/* The parts of a thread's record that are not on its hot path. */
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "session/record.h"
#include "session/trace_stop.h"

static void *map_touched(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	memset(memory, 0, size);
	return memory;
}

static struct ring *ring_of(uint64_t slots)
{
	struct ring *ring = map_touched(sizeof(*ring) + slots * sizeof(ring->slot[0]));

	if (ring)
		ring->slots = slots;
	return ring;
}

int record_init(struct record *record, unsigned int worst_wanted, uint64_t threshold_ns,
		bool every_sample)
{
	*record = (struct record){
		.min_ns = UINT64_MAX,
		.worst_wanted = worst_wanted,
		.threshold_ns = threshold_ns,
		.exceed_ns = UINT64_MAX,
		.cpu = -1,
		.notice_ns = worst_wanted ? 1 : threshold_ns,
		.histogram = map_touched(sizeof(struct histogram)),
	};
	if (every_sample)
		record->ring = ring_of(SAMPLES_SLOTS);
	return record->histogram && (record->ring || !every_sample) ? 0 : -1;
}

int record_queue_exceedances(struct record *record)
{
	record->exceedances = ring_of(EXCEEDANCES_SLOTS);
	if (!record->exceedances)
		return -1;
	record->exceed_ns = 0;
	return 0;
}

int record_queue_late(struct record *record, uint64_t late_ns)
{
	record->late = map_touched(sizeof(*record->late));
	if (!record->late)
		return -1;
	record->late_ns = late_ns;
	if (late_ns && late_ns < record->notice_ns)
		record->notice_ns = late_ns;
	return 0;
}

static void late_push(struct late_queue *late, const struct worst_sample *sample)
{
	unsigned int head = late->head;

	if (head - __atomic_load_n(&late->tail, __ATOMIC_ACQUIRE) >= LATE_SLOTS) {
		record_set(late->left_out, late->left_out + 1);
		return;
	}
	late->slot[head % LATE_SLOTS] = *sample;
	__atomic_store_n(&late->head, head + 1, __ATOMIC_RELEASE);
}

bool late_pop(struct late_queue *late, struct worst_sample *sample)
{
	unsigned int tail = late->tail;

	if (tail == __atomic_load_n(&late->head, __ATOMIC_ACQUIRE))
		return false;
	*sample = late->slot[tail % LATE_SLOTS];
	__atomic_store_n(&late->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

static bool add_worst(struct record *record, const struct worst_sample *sample)
{
	struct worst_sample *worst = record->worst;
	unsigned int i;

	if (!record->worst_wanted)
		return false;
	if (record->worst_count < record->worst_wanted)
		record->worst_count++;
	else if (sample->latency_ns <= worst[record->worst_count - 1].latency_ns)
		return false;
	for (i = record->worst_count - 1; i && worst[i - 1].latency_ns < sample->latency_ns; i--)
		worst[i] = worst[i - 1];
	worst[i] = *sample;
	return true;
}

/* The least latency that record_notice() has to be called for. */
static uint64_t least_notice_ns(const struct record *record)
{
	uint64_t least_ns = record->threshold_ns;

	if (record->late && record->late_ns && record->late_ns < least_ns)
		least_ns = record->late_ns;
	if (!record->worst_wanted)
		return least_ns;
	if (record->worst_count < record->worst_wanted)
		return 1;
	return record->worst[record->worst_count - 1].latency_ns < least_ns ?
		       record->worst[record->worst_count - 1].latency_ns + 1 :
		       least_ns;
}

void record_notice(struct record *record, uint64_t time_ns, uint64_t latency_ns)
{
	static unsigned long notices;
	struct worst_sample sample = {
		.time_ns = time_ns,
		.latency_ns = latency_ns,
		.notice = __atomic_add_fetch(&notices, 1, __ATOMIC_RELAXED),
		.cpu = record->cpu,
		.tid = record->tid,
	};
	bool is_worst;

	trace_stop_at(latency_ns); /* first: what follows would be in the trace */
	if (latency_ns >= record->threshold_ns)
		record->threshold_reached = true;
	if (sample.cpu == -1)
		sample.cpu = sched_getcpu();
	is_worst = add_worst(record, &sample);
	if (record->late && (record->late_ns ? latency_ns >= record->late_ns : is_worst))
		late_push(record->late, &sample);
	record->notice_ns = least_notice_ns(record);
}

uintptr_t record_notice_address(void)
{
#if defined(__powerpc64__) && (!defined(_CALL_ELF) || _CALL_ELF != 2)
	return *(const uintptr_t *)record_notice; /* there a function pointer is a descriptor */
#else
	return (uintptr_t)record_notice;
#endif
}

/* The exchange by the housekeeping thread may come in between, but once a window. */
void record_raise_window(struct record *record, uint64_t latency_ns)
{
	uint64_t max_ns = record_get(record->window_max_ns);

	while (latency_ns > max_ns &&
	       !__atomic_compare_exchange_n(&record->window_max_ns, &max_ns, latency_ns, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

uint64_t record_end_window(struct record *record)
{
	return __atomic_exchange_n(&record->window_max_ns, 0, __ATOMIC_RELAXED);
}

double record_mean_ns(const struct record *record)
{
	uint64_t count = record_get(record->count);

	return count ? (double)record_get(record->sum_ns) / (double)count : 0;
}

/* The sample standard deviation, from exact integer sums. */
double record_stddev_ns(const struct record *record)
{
	unsigned __int128 sum = record->sum_ns, count = record->count, scaled;

	if (count < 2)
		return 0;
	if (record->square_sum > ~(unsigned __int128)0 / count)
		return sqrt(((double)record->square_sum -
			     (double)sum / (double)count * (double)sum) /
			    (double)(count - 1));
	scaled = record->square_sum * count - sum * sum;
	return sqrt((double)scaled / (double)count / (double)(count - 1));
}
