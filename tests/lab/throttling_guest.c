// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a VM with one CPU: it spins as a SCHED_FIFO thread and sums the time that it
 * loses, with and without an ordinary thread that waits for the CPU. After each change of the
 * settings the agent reports what it finds. The rules of a profile are the lines of /rules.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_port.h"

#define RUNTIME	 "/proc/sys/kernel/sched_rt_runtime_us"
#define SERVERS	 "/sys/kernel/debug/sched/"
#define FAIR	 SERVERS "fair_server/cpu0/runtime"
#define EXT	 SERVERS "ext_server/cpu0/runtime"
#define SPAN_NS	 3000000000LL
#define GAP_NS	 200000
#define WORD_MAX 16

static char rules[WORD_MAX][256];

static int64_t lost_us(void)
{
	int64_t begun_ns, before_ns, lost_ns = 0;

	schedule_as(SCHED_FIFO, 50);
	begun_ns = before_ns = now_ns();
	while (before_ns < begun_ns + SPAN_NS) {
		int64_t ns = now_ns();

		if (ns - before_ns > GAP_NS)
			lost_ns += ns - before_ns;
		before_ns = ns;
	}
	schedule_as(SCHED_OTHER, 0);
	return lost_ns / 1000;
}

static void report(const char *setting)
{
	char *words[] = { "agent", "cyclic", "--json", "--samples=2", "--progress=0", NULL };

	agent_run(setting, words, NULL);
}

static void measure(const char *setting)
{
	pid_t waiting;

	report(setting);
	usleep(200000);
	printf("@ %s alone: %lld\n", setting, (long long)lost_us());
	waiting = fork();
	if (!waiting)
		for (;;)
			;
	usleep(200000);
	printf("@ %s waiting: %lld\n", setting, (long long)lost_us());
	kill(waiting, SIGKILL);
	waitpid(waiting, NULL, 0);
}

static void tune(const char *what, const char *action)
{
	char *words[WORD_MAX + 5] = { "agent", "tune", (char *)action, "--json" };

	for (int i = 0; !strcmp(action, "apply") && i < WORD_MAX && rules[i][0]; i++)
		words[4 + i] = rules[i];
	agent_run(what, words, NULL);
}

static void read_rules(void)
{
	FILE *file = fopen("/rules", "r");

	for (int i = 0; file && i < WORD_MAX && fgets(rules[i], sizeof(rules[i]), file); i++)
		rules[i][strcspn(rules[i], "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Where the kernel has groups of real-time threads, give those of the root less. */
static void limit_group(void)
{
	mount_at("/sys/fs/cgroup", "tmpfs");
	mkdir("/sys/fs/cgroup/cpu", 0755);
	if (!mount("cpu", "/sys/fs/cgroup/cpu", "cgroup", 0, "cpu"))
		put("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "800000");
}

int main(void)
{
	char booted_us[32] = "", booted_ns[32] = "";
	FILE *file;

	port_open();
	mount_at("/sys/kernel/debug", "debugfs");
	read_rules();
	if ((file = fopen(RUNTIME, "r")) && fgets(booted_us, sizeof(booted_us), file))
		fclose(file);
	if ((file = fopen(FAIR, "r")) && fgets(booted_ns, sizeof(booted_ns), file))
		fclose(file);

	measure("booted");
	/* Linux 6.12 may refuse this until the sysctl is -1; then the server is still on. */
	put(FAIR, "0");
	put(EXT, "0");
	measure("server off");
	put(FAIR, booted_ns);
	put(EXT, booted_ns);
	tune("apply", "apply");
	measure("tuned");
	tune("undo", "undo");
	report("undone");
	put(RUNTIME, "-1");
	measure("sysctl off");
	put(RUNTIME, booted_us);
	limit_group();
	measure("group limited");
	umount("/sys/kernel/debug");
	report("no debugfs");
	port_end();
}
