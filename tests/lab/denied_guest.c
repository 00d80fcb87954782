// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine on which the agent measures while it is denied what it asks the
 * kernel for once it has begun. Behind "@ PROBE" come the lines of a run, errors among them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "guest_module.h"
#include "guest_port.h"

#define CAP_SYS_NICE 23
#define DEV_ZERO     makedev(1, 5)

/* Without the right to change the priority of another's thread, as the interrupt's is. */
static void deny_priorities(void)
{
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0))
		printf("@ failed: nothing is denied: %m\n");
}

/* With a device that opens and maps, but knows no request. */
static void deny_events(void)
{
	if (mknod("/dev/rtevent", S_IFCHR | 0400, DEV_ZERO))
		printf("@ failed: nothing is denied: %m\n");
}

int main(void)
{
	char *daq[] = { "/agent", "daq", "--json", "--samples=5", "--policy=other", NULL };
	char *event[] = { "/agent", "event", "--json", "--samples=5", NULL };

	port_open();
	if (module_load("rtdaq", ""))
		printf("@ failed: no module rtdaq\n");
	agent_run("daq", daq, deny_priorities);
	agent_run("event", event, deny_events);
	port_end();
}
