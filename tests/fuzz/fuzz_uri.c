/*
 * fuzz_uri.c - any text as a URI: refused in words that can be shown, or written again and read as the same.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weir/status.h>
#include <weir/uri.h>

#include "base/nqn.h"
#include "base/utf8.h"
#include "fuzz.h"

enum { URI_MAX = WEIR_PATHS_MAX * (3 * 256 + 9) + 2 * 3 * 224 + 64 };

static void
refused(const struct weir_uri *uri)
{
	const char *why = weir_error();
	uint32_t code = 0;

	for (size_t i = 0; i < sizeof(*uri); i++)
		assert(((const uint8_t *)uri)[i] == 0x5a);
	assert(strncmp(why, "in the URI, ", 12) == 0);
	while (*why != '\0') {
		unsigned length = utf8_next((const uint8_t *)why, strlen(why), &code);

		assert(length > 0 && utf8_printable(code));
		why += length;
	}
}

static void
accepted(const struct weir_uri *uri)
{
	char text[URI_MAX];
	size_t length = weir_uri_format(uri, text, sizeof(text));
	struct weir_uri again;

	assert(uri->addresses >= 1 && uri->addresses <= WEIR_PATHS_MAX && uri->nsid != UINT32_MAX);
	assert(uri->subnqn[0] != '\0' || (uri->nsid == 0 && uri->addresses == 1));
	assert(uri->subnqn[0] == '\0' || nqn_usable(uri->subnqn, strnlen(uri->subnqn, sizeof(uri->subnqn))));
	assert(uri->hostnqn[0] == '\0' || nqn_usable(uri->hostnqn, strnlen(uri->hostnqn, sizeof(uri->hostnqn))));
	for (unsigned i = 0; i < uri->addresses; i++)
		assert(uri->address[i].host[0] != '\0' && uri->address[i].port != 0);
	assert(length < sizeof(text) && strlen(text) == length);
	assert(weir_uri_parse(text, &again) == 0 && memcmp(uri, &again, sizeof(again)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct weir_uri uri;
	int error;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	memset(&uri, 0x5a, sizeof(uri));
	error = weir_uri_parse(text, &uri);
	assert(error == 0 || error == -EINVAL);
	if (error == 0)
		accepted(&uri);
	else
		refused(&uri);
	free(text);
	return 0;
}
