// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU's that tells when the guest called one function: what an FPGA
 * on the bus is to a driver that polls its hardware.
 *
 * The time is that of the machine's virtual clock as the guest last read it, so
 * the function is to be called just after a reading. In the midst of a block of
 * instructions QEMU ends rather than tell a CPU the time, for that would have to
 * be counted first; who is no CPU is told what was counted last. So for the
 * moment of the question this thread is none. The guest cannot tell: no
 * instruction is added and none takes longer in virtual time.
 *
 *	edge=ADDRESS	the function
 *	output=FILE	the times in ns, 64 bits each, as the host writes them
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu.h"

EXPORTED int qemu_plugin_version = 1;

#define CLOCK_VIRTUAL 1 /* of enum QEMUClockType */

static uint64_t edge;
static FILE *file;
static int64_t (*clock_ns)(int type);

static int64_t virtual_ns(void)
{
	void **current_cpu = dlsym(RTLD_DEFAULT, "current_cpu"); /* of this thread */
	void *cpu = *current_cpu;
	int64_t now_ns;

	*current_cpu = NULL;
	now_ns = clock_ns(CLOCK_VIRTUAL);
	*current_cpu = cpu;
	return now_ns;
}

static void on_edge(unsigned int index, void *data)
{
	int64_t now_ns = virtual_ns();

	(void)index;
	(void)data;
	if (!file || fwrite(&now_ns, sizeof(now_ns), 1, file) == 1)
		return;
	fprintf(stderr, "rtscope's plugin cannot write what it saw: disk full?\n");
	fclose(file);
	file = NULL;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_vaddr(insn) == edge)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_edge,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

static bool take_argument(const char *argument)
{
	char *rest;

	if (!strncmp(argument, "output=", 7)) {
		file = fopen(argument + 7, "wbe");
		if (file)
			setvbuf(file, NULL, _IONBF, 0);
		return file;
	}
	if (strncmp(argument, "edge=", 5))
		return false;
	edge = strtoull(argument + 5, &rest, 0);
	return !*rest;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
				 char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (take_argument(argv[i]))
			continue;
		fprintf(stderr, "rtscope's plugin: '%s' cannot be used\n", argv[i]);
		return -1;
	}
	*(void **)&clock_ns = dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
	if (!edge || !file || !clock_ns || !dlsym(RTLD_DEFAULT, "current_cpu")) {
		fprintf(stderr, "rtscope's plugin: it needs a function, a file and QEMU's clock\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
