// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a VM that tests what a session does with the kernel's
 * tracing, measuring on the last CPU, and with CPU 1 going offline, if there is
 * one. The agent's lines stand behind "@ NAME", the trace behind "@ NAME trace",
 * tracing_on behind "@ NAME traced".
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define TRACING	   "/sys/kernel/tracing/"
#define CPU_1	   "/sys/devices/system/cpu/cpu1"
#define OFFLINE_US 1500000

static void agent(const char *name, char *const *words)
{
	pid_t child;
	int status;

	printf("@ %s\n", name);
	child = fork();
	if (!child) {
		execv("/agent", words);
		_exit(127);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
		printf("@ failed: %s ended with %#x\n", name, status);
}

static void set(const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), TRACING "%s", name);
	if (!put(path, text))
		printf("@ failed: cannot write '%s' to %s: %m\n", text, path);
}

static void show(const char *section, const char *of, const char *name)
{
	char path[96], line[512];
	FILE *file;

	snprintf(path, sizeof(path), TRACING "%s", name);
	file = fopen(path, "r");
	printf("@ %s %s\n", section, of);
	while (file && fgets(line, sizeof(line), file))
		fputs(line, stdout);
	if (file)
		fclose(file);
}

static void break_at(const char *name, char *probe, char *option, char *cpu)
{
	char *const words[] = { "agent", probe,		"--json", "--progress=0", cpu,
				"-D5s",	 "--break=1us", "-i10ms", option,	  NULL };

	agent(name, words);
}

static void break_traced(const char *name, char *probe, char *option, char *cpu)
{
	set("trace", "");
	set("tracing_on", "1");
	break_at(name, probe, option, cpu);
	show(name, "traced", "tracing_on");
	show(name, "trace", "trace");
}

static void take_offline(void)
{
	if (fork())
		return;
	usleep(OFFLINE_US);
	if (!put(CPU_1 "/online", "0"))
		printf("@ failed: CPU 1 does not go offline: %m\n");
	_exit(0);
}

int main(void)
{
	char *cpu = "-a0";
	char *const unplugged[] = { "agent", "cyclic", "--json", "--progress=0", "-D20s", NULL };

	port_open();
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at("/sys/kernel/tracing", "tracefs");
	chmod("/agent", 0755);
	if (!access(CPU_1, F_OK))
		cpu = "-a1";
	set("trace_clock", "mono");
	set("events/sched/sched_switch/enable", "1");
	break_traced("break", "cyclic", NULL, cpu);
	break_traced("signal", "signal", "--method=asynchronous", cpu);
	if (module_load("rtevent", ""))
		printf("@ failed: rtevent does not load: %m\n");
	break_traced("event", "event", "--via=sigio", cpu);
	set("events/sched/sched_switch/enable", "0");
	set("tracing_on", "1");
	break_at("untraced", "cyclic", NULL, cpu);
	show("untraced", "traced", "tracing_on");
	if (!access(CPU_1, F_OK)) {
		take_offline();
		agent("unplugged", unplugged);
	}
	port_end();
}
