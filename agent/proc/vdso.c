// SPDX-License-Identifier: GPL-2.0-only
/* The functions that the kernel maps into every program, found in its own ELF image. */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "proc/vdso.h"

struct image {
	uintptr_t base; /* what its addresses are relative to */
	const ElfW(Sym) * symbols;
	const char *strings;
	uint32_t count; /* of symbols */
};

/* A GNU hash table does not say how many symbols there are: the last chain's end does. */
static uint32_t gnu_hash_symbols(const uint32_t *table)
{
	uint32_t buckets = table[0], first = table[1], words = table[2], last = 0;
	const uint32_t *bucket = table + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++) {
		if (bucket[i] > last)
			last = bucket[i];
	}
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static int open_image(struct image *image)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
	const ElfW(Dyn) *dynamic = NULL;
	const ElfW(Phdr) * segment;

	if (!start)
		return -1;
	*image = (struct image){ 0 };
	segment = (const ElfW(Phdr) *)(start + header->e_phoff);
	for (unsigned int i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type == PT_LOAD && !image->base)
			image->base = start + segment->p_offset - segment->p_vaddr;
		else if (segment->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(start + segment->p_offset);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *value = (const void *)(image->base + dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			image->symbols = value;
		else if (dynamic->d_tag == DT_STRTAB)
			image->strings = value;
		else if (dynamic->d_tag == DT_HASH)
			image->count = ((const uint32_t *)value)[1];
		else if (dynamic->d_tag == DT_GNU_HASH && !image->count)
			image->count = gnu_hash_symbols(value);
	}
	return image->symbols && image->strings ? 0 : -1;
}

void *vdso_function(const char *const *names)
{
	struct image image;

#if defined(__powerpc64__) && (!defined(_CALL_ELF) || _CALL_ELF != 2)
	return NULL; /* there a function pointer is a descriptor, which the vDSO does not have */
#endif
	if (open_image(&image))
		return NULL;
	for (; *names; names++) {
		for (uint32_t i = 0; i < image.count; i++) {
			const ElfW(Sym) *symbol = &image.symbols[i];

			if (symbol->st_shndx != SHN_UNDEF &&
			    !strcmp(image.strings + symbol->st_name, *names))
				return (void *)(image.base + symbol->st_value);
		}
	}
	return NULL;
}
