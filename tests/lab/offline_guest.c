// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine that takes CPU 0 offline and has the agent measure on the rest.
 * Behind "@ VERB" come the agent's lines.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "guest_port.h"

int main(void)
{
	char *const words[][10] = {
		{ "agent", "machine", "--json" },
		{ "agent", "topology", "--json", "--progress=0", "--slot=1ms", "-l1" },
		{ "agent", "memory", "--json", "--progress=0", "--slot=1ms", "-l1", "--largest=8" },
		{ "agent", "scaling", "--json", "--progress=0", "-D200ms", "-i20ms" },
		{ "agent", "cyclic", "--json", "--progress=0", "-D200ms", "--load=memory+cache" },
	};

	port_open();
	mount_at("/tmp", "tmpfs");
	if (!put("/sys/devices/system/cpu/cpu0/online", "0"))
		printf("@ failed: CPU 0 does not go offline: %m\n");
	for (unsigned int i = 0; i < COUNT(words); i++)
		agent_run(words[i][1], words[i], NULL);
	port_end();
}
