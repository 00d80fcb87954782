// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a VM whose kernel reports whatever PREEMPT_RT forbids. It uses what no probe
 * and no load does: exceptions that end in signals, a debugger's stops, large copies, timers of CPU
 * time, patches of the kernel's text, modules, CPU hotplug and SysRq dumps. "@ PATH: result" for
 * each, "@ lockdep", which turns itself off at its first report, and the log behind "@ log".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define STOPS	  20
#define ROUNDS	  3
#define COPY_SIZE 65536
#define DUMP_US	  1000000

static char buffer[COPY_SIZE] __attribute__((aligned(8)));

static void end_by_float(void)
{
	volatile double zero = 0, one = 1;

#if defined(__powerpc64__)
	prctl(PR_SET_FPEXC, PR_FP_EXC_PRECISE);
	asm volatile("mtfsb1 27"); /* an exception where a number is divided by zero */
#elif defined(__mips__)
	unsigned int control;

	asm volatile("cfc1 %0, $31" : "=r"(control));
	asm volatile("ctc1 %0, $31" : : "r"(control | 1 << 10)); /* likewise */
#endif
	zero = one / zero;
}

static void end_by_instruction(void)
{
#if defined(__powerpc64__)
	asm volatile(".long 0");
#elif defined(__mips__)
	asm volatile(".word 0x7c00003f");
#endif
}

static void end_by_trap(void)
{
	__builtin_trap();
}

static void end_by_address(void)
{
	volatile char *volatile nowhere = NULL;

	*nowhere = 1;
}

static void end_by_cpu_time(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 20000 };

	setitimer(ITIMER_VIRTUAL, &soon, NULL);
	for (;;)
		;
}

static void end_by(const char *what, void (*end)(void))
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		end();
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("@ %s: %s\n", what, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no signal");
}

/* How often a child stops that is let go on by @request, a system call at a time or a step. */
static void stop(const char *what, int request)
{
	int status = 0, stops = 0;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			getppid();
	}
	waitpid(child, &status, 0);
	while (stops < STOPS && !ptrace(request, child, NULL, NULL)) {
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
		stops++;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("@ %s: %d stops\n", what, stops);
}

/* Some CPUs leave it to the kernel, and the compiler makes other code of what it knows of. */
static void load_unaligned(void)
{
	char *volatile odd = buffer + 1;
	uint32_t expected;

	for (size_t i = 0; i < 2 * sizeof(expected); i++)
		buffer[i] = (char)(i * 37);
	memcpy(&expected, odd, sizeof(expected));
	printf("@ unaligned: %s\n", *(volatile uint32_t *)odd == expected ? "right" : "wrong");
}

static void copy(void)
{
	int ends[2], good = 0;

	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, 4 * COPY_SIZE) < 0)
		return;
	for (int round = 0; round < ROUNDS; round++)
		good += write(ends[1], buffer, COPY_SIZE) == COPY_SIZE &&
			read(ends[0], buffer, COPY_SIZE) == COPY_SIZE;
	printf("@ copy: %d times\n", good);
}

static void patch(void)
{
	int good = 0;

	for (int round = 0; round < ROUNDS; round++)
		good += put("/t/current_tracer", "function") && put("/t/current_tracer", "nop");
	printf("@ patch: %d times\n", good);
}

static void leave_and_come_back(void)
{
	static const char path[] = "/sys/devices/system/cpu/cpu1/online";
	int good = 0;

	for (int round = 0; round < ROUNDS; round++)
		good += put(path, "0") && put(path, "1");
	printf("@ hotplug: %d times\n", good);
}

static void load_and_unload(void)
{
	int good = 0;

	for (int round = 0; round < ROUNDS; round++)
		good += !module_load("rtdelay", "delay_us=10") && !module_unload("rtdelay");
	printf("@ module: %d times\n", good);
}

/*
 * A dump has the words of a complaint: the lines around it say that it was asked for. The other
 * CPUs' parts come a little later.
 */
static void dump(const char *key)
{
	bool good = put("/dev/kmsg", "rare paths: a dump begins\n");

	good = put("/proc/sysrq-trigger", key) && good;
	usleep(DUMP_US);
	good = put("/dev/kmsg", "rare paths: the dump is over\n") && good;
	printf("@ sysrq %s: %s\n", key, good ? "taken" : "refused");
}

static void show_lockdep(void)
{
	FILE *stats = fopen("/proc/lockdep_stats", "r");
	int looks = -1;
	char line[128];

	while (stats && fgets(line, sizeof(line), stats))
		sscanf(line, " debug_locks: %d", &looks);
	if (stats)
		fclose(stats);
	printf("@ lockdep: %s\n", looks == 1 ? "looks" : "is off");
}

/* All of it, which a console may not have shown yet when the machine ends. */
static void show_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[8192];
	ssize_t size;

	printf("@ log\n");
	while ((size = read(fd, record, sizeof(record) - 1)) > 0) {
		char *text;

		record[size] = '\0';
		text = strchr(record, ';');
		if (text)
			printf("%.*s\n", (int)strcspn(text + 1, "\n"), text + 1);
	}
	close(fd);
}

int main(void)
{
	port_open();
	mount_at("/t", "tracefs");
	end_by("float", end_by_float);
	end_by("instruction", end_by_instruction);
	end_by("trap", end_by_trap);
	end_by("address", end_by_address);
	end_by("cpu time", end_by_cpu_time);
	stop("step", PTRACE_SINGLESTEP);
	stop("system call", PTRACE_SYSCALL);
	load_unaligned();
	copy();
	patch();
	load_and_unload();
	leave_and_come_back();
	dump("l");
	dump("x");
	show_lockdep();
	show_log();
	port_end();
}
