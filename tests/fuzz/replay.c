/*
 * replay.c - runs a fuzz entry over every file of a folder, without a fuzzer.
 *
 * An input that the entry refuses aborts the program; its name was printed
 * before.  Every file is also run cut off at each length, for a little more.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { INPUT_MAX = 64 * 1024, CUTS_MAX = 512 };

/* The entry gets a block of exactly the size, so that a sanitizer sees what lies beyond. */
static void
run(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size + (size == 0));

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void
replay(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (file == NULL) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	run(bytes, size);
	for (size_t cut = 0; cut < size && cut < CUTS_MAX; cut++)
		run(bytes, cut);
}

int
main(int argc, char **argv)
{
	struct dirent **names;
	char path[4096];
	int count = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1, files = 0;

	/* Each run needs what the last one has freed: to have it from the kernel anew took most of the time. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (count < 0) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]->d_name);
			replay(path);
			files++;
		}
		free(names[i]);
	}
	free(names);
	printf("%d inputs\n", files);
	return files == 0;
}
