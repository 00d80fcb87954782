// SPDX-License-Identifier: GPL-2.0-only
/*
 * A low-level RF loop with measurement points, as an accelerator runs one for
 * each pulse: acquire the waveforms, demodulate, control the phase, diagnose;
 * 120 pulses a second, of whose 8.3 ms the loop may take 2.7 ms.
 *
 * The cavity is simulated: it answers with ten waveforms of a 25.5 MHz carrier
 * that a 119 MHz ADC has sampled, so the carrier turns by 3/14 of a circle a
 * sample, and its phase drifts as a machine's does. What is measured is all
 * real: demodulation of these samples, a PI controller that brings the phase to
 * the set point, statistics of every waveform. Nodes are named as in SLAC's
 * table of such a loop (K. Kim, 2013).
 *
 * With -d the trigger is an interrupt of the module rtevent, and the samples
 * come from the module rtdaq, by DMA into this program's pages. Without, a timer
 * is the trigger and the samples are there.
 *
 * Valid C11 and C++17.
 */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtscope/points.h>

#include "devices.h"

#define CHANNELS	10
#define TURN		14 /* samples until the carrier meets its first phase again */
#define TURNS		146
#define SAMPLES		(TURN * TURNS)
#define FLAT_TOP	40 /* the turn by which the pulse has settled */
#define PI		3.14159265358979323846
#define DEGREES		(180 / PI)
#define VOLTS_PER_COUNT (1.0 / 32768)
#define BUDGET_NS	2700000U

enum { MAINLOOP, DAQ, PHCTRL, PHCTRLDATA, NETDAQ, RFDEMO, PHCTRLCALC, WFDIAG, OTHDIAG, NODES };

static const struct {
	const char *name;
	int parent;
	uint64_t budget_ns;
	const char *text;
} nodes[NODES] = {
	{ "MAINLOOP", -1, BUDGET_NS, "one pulse, from the trigger to the end of diagnostics" },
	{ "DAQ", MAINLOOP, 0, "get all waveforms" },
	{ "PHCTRL", MAINLOOP, 0, "phase control" },
	{ "PHCTRLDATA", PHCTRL, 0, "get the data for phase control" },
	{ "NETDAQ", PHCTRLDATA, 0, "get the cavity's waveform" },
	{ "RFDEMO", PHCTRLDATA, 0, "demodulate it" },
	{ "PHCTRLCALC", PHCTRL, 0, "the phase controller" },
	{ "WFDIAG", MAINLOOP, 0, "diagnose all waveforms" },
	{ "OTHDIAG", MAINLOOP, 0, "diagnose the loop itself" },
};

struct cavity {
	/* and a readout, which the digitizer adds */
	int16_t adc[CHANNELS + 1][SAMPLES_A_CHANNEL] __attribute__((aligned(4096)));
	double drive_rad; /* what the controller asks for */
	uint32_t noise;
};

struct controller {
	double integral_rad;
	double error_rad;
};

struct diagnosis {
	double mean, rms, low, high;
};

static struct rtscope_point *points[NODES];
static double volts[CHANNELS][SAMPLES], cosine[TURN], sine[TURN];
static struct diagnosis diagnoses[CHANNELS];
static double error_square_rad; /* smoothed over a second */
static int busy_node = -1;
static uint64_t busy_ns;
static volatile sig_atomic_t stopped;
static struct devices hardware, *devices; /* NULL: a timer, and no digitizer */

static uint64_t enter(int node)
{
	return rtscope_begin(points[node]);
}

/* Leave a node, after the disturbance that was asked for. */
static void leave(int node, uint64_t begun_ns)
{
	if (node == busy_node) {
		uint64_t until_ns = rtscope_now_ns() + busy_ns;

		while (rtscope_now_ns() < until_ns)
			;
	}
	rtscope_end(points[node], begun_ns);
}

static double noise(struct cavity *cavity)
{
	cavity->noise ^= cavity->noise << 13;
	cavity->noise ^= cavity->noise >> 17;
	cavity->noise ^= cavity->noise << 5;
	return cavity->noise / 4294967296.0 - 0.5;
}

/* The hardware's part of a pulse, between two triggers. */
static void cavity_answer(struct cavity *cavity, double time_s)
{
	double drift_rad = (30 + 2 * sin(2 * PI * 0.2 * time_s)) / DEGREES;

	for (int channel = 0; channel < CHANNELS; channel++) {
		double phase = cavity->drive_rad + drift_rad + channel * 0.1;
		double re = 0.7 * cos(phase), im = 0.7 * sin(phase);

		for (int i = 0; i < SAMPLES; i++) {
			double filled = i < FLAT_TOP * TURN / 2 ? 2.0 * i / (FLAT_TOP * TURN) : 1;
			double sample = re * cosine[i % TURN] - im * sine[i % TURN];

			cavity->adc[channel][i] =
				(int16_t)((filled * sample + 0.002 * noise(cavity)) /
					  VOLTS_PER_COUNT);
		}
	}
}

/* Where the digitizer has put its stamp, the carrier's next turn has the same sample. */
static void mend_stamped(double *waveform)
{
	for (int i = 0; i < SAMPLES - TURN; i += STAMPED_EVERY) {
		for (int k = i; k < i + STAMPED; k++)
			waveform[k] = waveform[k + TURN];
	}
}

/* Returns false where the digitizer's wait was ended. */
static bool acquire(const struct cavity *cavity)
{
	uint64_t begun_ns = enter(DAQ);

	if (devices && !devices_acquire(devices))
		return false;
	for (int channel = 0; channel < CHANNELS; channel++) {
		for (int i = 0; i < SAMPLES; i++)
			volts[channel][i] = cavity->adc[channel][i] * VOLTS_PER_COUNT;
		if (devices)
			mend_stamped(volts[channel]);
	}
	leave(DAQ, begun_ns);
	return true;
}

/* In-phase and quadrature part of one turn of the carrier. */
static void demodulate_turn(const double *sample, double *in_phase, double *quadrature)
{
	*in_phase = *quadrature = 0;
	for (int i = 0; i < TURN; i++) {
		*in_phase += sample[i] * cosine[i] * 2 / TURN;
		*quadrature -= sample[i] * sine[i] * 2 / TURN;
	}
}

/* Phase of the flat top of @waveform. */
static double demodulate(const double *waveform)
{
	uint64_t begun_ns = enter(RFDEMO);
	double i_sum = 0, q_sum = 0;

	for (int turn = FLAT_TOP; turn < TURNS; turn++) {
		double in_phase, quadrature;

		demodulate_turn(waveform + turn * TURN, &in_phase, &quadrature);
		i_sum += in_phase;
		q_sum += quadrature;
	}
	leave(RFDEMO, begun_ns);
	return atan2(q_sum, i_sum);
}

static double phase_data(void)
{
	static double waveform[SAMPLES];
	uint64_t begun_ns = enter(PHCTRLDATA), net_ns = enter(NETDAQ);
	double phase_rad;

	memcpy(waveform, volts[0], sizeof(waveform));
	leave(NETDAQ, net_ns);
	phase_rad = demodulate(waveform);
	leave(PHCTRLDATA, begun_ns);
	return phase_rad;
}

/* The drive's phase for the next pulse: the set point is 0. */
static double control(struct controller *controller, double phase_rad)
{
	uint64_t begun_ns = enter(PHCTRLCALC);
	double drive_rad;

	controller->error_rad = -phase_rad;
	controller->integral_rad += 0.4 * controller->error_rad;
	drive_rad = controller->integral_rad + 0.2 * controller->error_rad;
	leave(PHCTRLCALC, begun_ns);
	return drive_rad;
}

static void diagnose_waveforms(void)
{
	uint64_t begun_ns = enter(WFDIAG);

	for (int channel = 0; channel < CHANNELS; channel++) {
		struct diagnosis found = { 0, 0, INFINITY, -INFINITY };

		for (int i = 0; i < SAMPLES; i++) {
			double sample = volts[channel][i];

			found.mean += sample / SAMPLES;
			found.rms += sample * sample / SAMPLES;
			found.low = sample < found.low ? sample : found.low;
			found.high = sample > found.high ? sample : found.high;
		}
		found.rms = sqrt(found.rms);
		diagnoses[channel] = found;
	}
	leave(WFDIAG, begun_ns);
}

static void diagnose_loop(const struct controller *controller)
{
	uint64_t begun_ns = enter(OTHDIAG);
	double square = controller->error_rad * controller->error_rad;

	error_square_rad += (square - error_square_rad) / 120;
	leave(OTHDIAG, begun_ns);
}

static bool pulse(struct cavity *cavity, struct controller *controller)
{
	uint64_t begun_ns = enter(MAINLOOP), control_ns;

	if (!acquire(cavity))
		return false;
	control_ns = enter(PHCTRL);
	cavity->drive_rad = control(controller, phase_data());
	leave(PHCTRL, control_ns);
	diagnose_waveforms();
	diagnose_loop(controller);
	leave(MAINLOOP, begun_ns);
	return true;
}

static void add_points(void)
{
	for (int i = 0; i < NODES; i++)
		points[i] = rtscope_point_add(nodes[i].parent < 0 ? NULL : points[nodes[i].parent],
					      nodes[i].name, nodes[i].budget_ns, nodes[i].text);
	if (rtscope_points_error())
		fprintf(stderr, "llrf: %s\n", rtscope_points_error());
}

/* Wait for the pulse that is due @period_ns after *@trigger_ns, or for the receiver's next. */
static bool await_trigger(uint64_t period_ns, uint64_t *trigger_ns)
{
	struct timespec until;

	if (devices)
		return devices_trigger(devices, trigger_ns);
	*trigger_ns += period_ns;
	until.tv_sec = (time_t)(*trigger_ns / 1000000000U);
	until.tv_nsec = (long)(*trigger_ns % 1000000000U);
	return !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Run @pulses (0: until stopped) at @rate_hz. Returns how many there were. */
static long run(long pulses, double rate_hz, struct cavity *cavity, struct controller *controller,
		long *late)
{
	uint64_t period_ns = (uint64_t)(1e9 / rate_hz), trigger_ns = rtscope_now_ns();
	long done = 0;

	for (; !stopped && (!pulses || done < pulses); done++) {
		cavity_answer(cavity, (double)done / rate_hz);
		if (!await_trigger(period_ns, &trigger_ns) || !pulse(cavity, controller))
			break;
		if (rtscope_now_ns() >= trigger_ns + period_ns)
			++*late;
	}
	return done;
}

static void become_real_time(const struct sched_param *scheduling)
{
	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, scheduling);
	if (errno)
		perror("llrf: SCHED_FIFO is refused, going on without");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("llrf: memory cannot be locked, going on without");
}

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int bad(const char *what, const char *text)
{
	fprintf(stderr,
		"llrf: %s '%s'\n"
		"usage: llrf [-d] [-t SECONDS] [-r HZ] [-p PRIORITY] [-b NODE:MICROSECONDS]\n"
		"  -t  how long (until Ctrl-C)      -p  run at this SCHED_FIFO priority\n"
		"  -r  pulses a second (120)        -b  a busy wait in a node, to be found\n"
		"  -d  trigger and samples come from the modules rtevent and rtdaq\n",
		what, text);
	return 2;
}

/* Read WFDIAG:5000. */
static int read_busy(const char *text)
{
	const char *colon = strchr(text, ':');

	for (int i = 0; colon && i < NODES; i++) {
		if (strlen(nodes[i].name) == (size_t)(colon - text) &&
		    !strncmp(nodes[i].name, text, (size_t)(colon - text)))
			busy_node = i;
	}
	busy_ns = colon ? strtoull(colon + 1, NULL, 10) * 1000 : 0;
	return busy_node < 0 || !busy_ns ? -1 : 0;
}

int main(int argc, char **argv)
{
	double seconds = 0, rate_hz = 120;
	struct sched_param scheduling;
	static struct cavity cavity;
	struct controller controller = { 0, 0 };
	long late = 0, done;
	int option;

	memset(&scheduling, 0, sizeof(scheduling));
	while ((option = getopt(argc, argv, "t:r:p:b:d")) != -1) {
		if (option == 'd')
			devices = &hardware;
		else if (option == 't')
			seconds = atof(optarg);
		else if (option == 'r')
			rate_hz = atof(optarg);
		else if (option == 'p')
			scheduling.sched_priority = atoi(optarg);
		else if (option != 'b' || read_busy(optarg))
			return bad("cannot read", argv[optind - 1]);
		if (rate_hz < 1 || rate_hz > 1000)
			return bad("-r is 1 to 1000 pulses a second, not", optarg);
	}
	if (optind < argc)
		return bad("no use for", argv[optind]);
	if (scheduling.sched_priority)
		become_real_time(&scheduling);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	for (int i = 0; i < TURN; i++) {
		cosine[i] = cos(2 * PI * 3 * i / TURN);
		sine[i] = sin(2 * PI * 3 * i / TURN);
	}
	add_points();
	cavity.noise = 2463534242U;
	if (devices && devices_start(devices, cavity.adc[0], CHANNELS, rate_hz,
				     (unsigned int)scheduling.sched_priority))
		return 1;
	done = run(seconds > 0 ? (long)ceil(seconds * rate_hz) : 0, rate_hz, &cavity, &controller,
		   &late);
	printf("%ld pulses, %ld late; phase off by %.3f degrees at the last, %.3f rms; channel 0 %.3f V rms\n",
	       done, late, fabs(controller.error_rad) * DEGREES, sqrt(error_square_rad) * DEGREES,
	       diagnoses[0].rms);
	if (devices)
		printf("%ld triggers and %ld waveforms lost, %ld blocks of another pulse\n",
		       devices->lost_triggers, devices->lost_waveforms, devices->wrong_blocks);
	return 0;
}
