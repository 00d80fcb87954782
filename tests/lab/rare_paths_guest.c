// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine whose kernel complains of what PREEMPT_RT
 * forbids: it goes where no probe and no load does. Exceptions that end in
 * signals, single steps, system calls that copy much, timers of CPU time, text
 * of the kernel's that is patched, and CPUs that leave and come back. It writes
 * "@ PATH: what came of it" for each to the port that rtscope_channel= names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define STEPS	  20
#define ROUNDS	  3
#define COPY_SIZE 65536

static char buffer[COPY_SIZE];

static void end_by_float(void)
{
	volatile double zero = 0, one = 1;

#ifdef __powerpc64__
	prctl(PR_SET_FPEXC, PR_FP_EXC_PRECISE);
	asm volatile("mtfsb1 27"); /* an exception where a number is divided by zero */
#endif
	zero = one / zero;
	kill(getpid(), SIGFPE);
}

static void end_by_instruction(void)
{
#ifdef __powerpc64__
	asm volatile(".long 0");
#endif
	kill(getpid(), SIGILL);
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
	printf("@ %s: signal %d\n", what, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void step(void)
{
	int status = 0, steps = 0;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, &status, 0);
	while (steps < STEPS && !ptrace(PTRACE_SINGLESTEP, child, NULL, NULL)) {
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
		steps++;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("@ step: %d steps\n", steps);
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

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t size = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return size == (ssize_t)strlen(text);
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

static void open_channel(void)
{
	const char *path = getenv("rtscope_channel");
	int fd = open(path ? path : "/dev/console", O_RDWR | O_NOCTTY);
	struct termios settings;

	if (fd < 0 || tcgetattr(fd, &settings))
		return;
	cfmakeraw(&settings);
	cfsetspeed(&settings, B115200);
	tcsetattr(fd, TCSANOW, &settings);
	dup2(fd, STDOUT_FILENO);
}

static void mount_at(const char *path, const char *type)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL) && errno != EBUSY)
		printf("@ failed: cannot mount %s: %m\n", type);
}

int main(void)
{
	mount_at("/dev", "devtmpfs");
	open_channel();
	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_at("/sys", "sysfs");
	mount_at("/t", "tracefs");
	end_by("float", end_by_float);
	end_by("instruction", end_by_instruction);
	end_by("trap", end_by_trap);
	end_by("address", end_by_address);
	end_by("cpu time", end_by_cpu_time);
	step();
	copy();
	patch();
	leave_and_come_back();
	printf("@ end\n");
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
