/*
 * lib/uri: what a URI names, what is wrong with one that is none, and that one written is read as the same.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weir/status.h>
#include <weir/uri.h>

#include "base/rng.h"

#define NQN "nqn.2026-11.local.weir:a"

static void
written_and_read_again_it_is_the_same(const struct weir_uri *uri)
{
	char text[8192], cut[40];
	struct weir_uri again;
	size_t length = weir_uri_format(uri, text, sizeof(text));

	assert_true(length < sizeof(text) && strlen(text) == length);
	if (weir_uri_parse(text, &again) < 0)
		fail_msg("%s: %s", text, weir_error());
	assert_memory_equal(uri, &again, sizeof(again));
	assert_int_equal(weir_uri_format(uri, cut, sizeof(cut)), length);
	assert_int_equal(strlen(cut), length < sizeof(cut) ? length : sizeof(cut) - 1);
	assert_memory_equal(cut, text, strlen(cut));
	assert_int_equal(weir_uri_format(uri, NULL, 0), length);
}

static struct weir_uri
parsed(const char *text)
{
	struct weir_uri uri;

	if (weir_uri_parse(text, &uri) < 0)
		fail_msg("%s: %s", text, weir_error());
	written_and_read_again_it_is_the_same(&uri);
	return uri;
}

static void
a_subsystem_has_hosts_a_name_and_options(void **state)
{
	struct weir_uri uri = parsed("nvme+tcp://10.0.0.7/" NQN);

	assert_int_equal(uri.addresses, 1);
	assert_string_equal(uri.address[0].host, "10.0.0.7");
	assert_int_equal(uri.address[0].port, 4420);
	assert_string_equal(uri.subnqn, NQN);
	assert_string_equal(uri.hostnqn, "");
	assert_int_equal(uri.nsid, 0);

	uri = parsed("NVMe+TCP://store-1.example:4421,[2001:db8::1],[::1]:1/" NQN
	    "?hostnqn=nqn.2026-11.local:h&ns=4294967294");
	assert_int_equal(uri.addresses, 3);
	assert_string_equal(uri.address[0].host, "store-1.example");
	assert_int_equal(uri.address[0].port, 4421);
	assert_string_equal(uri.address[1].host, "2001:db8::1");
	assert_int_equal(uri.address[1].port, 4420);
	assert_string_equal(uri.address[2].host, "::1");
	assert_int_equal(uri.address[2].port, 1);
	assert_string_equal(uri.hostnqn, "nqn.2026-11.local:h");
	assert_int_equal(uri.nsid, 0xfffffffe);
}

static void
a_discovery_service_has_a_port_of_its_own(void **state)
{
	struct weir_uri uri = parsed("nvme+tcp://target"), other;

	assert_string_equal(uri.subnqn, "");
	assert_int_equal(uri.address[0].port, 8009);
	other = parsed("nvme+tcp://target/");
	assert_memory_equal(&uri, &other, sizeof(uri));
	other = parsed("nvme+tcp://target:8009/nqn.2014-08.org.nvmexpress.discovery");
	assert_memory_equal(&uri, &other, sizeof(uri));
	uri = parsed("nvme+tcp://target?hostnqn=nqn.2026-11.local:h");
	other = parsed("nvme+tcp://target/?hostnqn=nqn.2026-11.local:h");
	assert_memory_equal(&uri, &other, sizeof(uri));
	assert_string_equal(uri.hostnqn, "nqn.2026-11.local:h");
}

static void
bytes_are_written_in_percent(void **state)
{
	struct weir_uri uri = parsed("nvme+tcp://[fe80::1%25eth0]/nqn.2026-11.local:%C3%BC%3f%2F%23?ns=1");

	assert_string_equal(uri.address[0].host, "fe80::1%eth0");
	assert_string_equal(uri.subnqn, "nqn.2026-11.local:\xc3\xbc?/#");
}

/* Linux's target takes any; ours takes none of these for its own. */
static void
a_name_need_not_be_an_nqn(void **state)
{
	struct weir_uri uri = parsed("nvme+tcp://target/testnqn?ns=1&hostnqn=me");

	(void)state;
	assert_string_equal(uri.subnqn, "testnqn");
	assert_string_equal(uri.hostnqn, "me");
	uri = parsed("nvme+tcp://target/%25a%3fb%26c:%C3%BC");
	assert_string_equal(uri.subnqn, "%a?b&c:\xc3\xbc");
	written_and_read_again_it_is_the_same(&uri);
}

static void
the_longest_there_may_be(void **state)
{
	char text[4096] = "nvme+tcp://", nqn[] = "nqn.2026-11.";
	struct weir_uri uri;
	size_t length;

	memset(text + strlen(text), 'h', 255);
	length = strlen(text);
	text[length++] = '/';
	memcpy(text + length, nqn, strlen(nqn));
	memset(text + length + strlen(nqn), 'n', 223 - strlen(nqn));
	uri = parsed(text);
	assert_int_equal(strlen(uri.address[0].host), 255);
	assert_int_equal(strlen(uri.subnqn), 223);
	text[length + 223] = 'n';
	assert_int_equal(weir_uri_parse(text, &uri), -EINVAL);
}

static void
what_is_wrong_is_said_and_changes_nothing(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "begin with nvme+tcp://" }, { "http://a/" NQN, "\"http://a/nqn." }, { "nvme+tcp:/a", "begin" },
		{ "nvme+tcp://", "\"\" is not a host" }, { "nvme+tcp:///" NQN, "\"\" is not a host" },
		{ "nvme+tcp://a,/" NQN, "\"\" is not a host" }, { "nvme+tcp://,a/" NQN, "\"\" is not a host" },
		{ "nvme+tcp://a@b/" NQN, "\"a@b\" is not a host" },
		{ "nvme+tcp://a%00b/" NQN, "\"a%00b\" is not a host" },
		{ "nvme+tcp://[::1/" NQN, "lacks the ]" }, { "nvme+tcp://[::1]1/" NQN, "something else than :PORT" },
		{ "nvme+tcp://::1/" NQN, "in [brackets]" }, { "nvme+tcp://[a]/" NQN, "\"a\" is not an IPv6 address" },
		{ "nvme+tcp://[::1%25]/" NQN, "not an IPv6" }, { "nvme+tcp://[1:2]/" NQN, "\"1:2\" is not an IPv6" },
		{ "nvme+tcp://[]/" NQN, "\"\" is not an IPv6 address" },
		{ "nvme+tcp://a:0/" NQN, "\"0\" is not a port" },
		{ "nvme+tcp://a:65536/" NQN, "\"65536\" is not a port" },
		{ "nvme+tcp://a:/" NQN, "\"\" is not a port" }, { "nvme+tcp://[::1]:/" NQN, "\"\" is not a port" },
		{ "nvme+tcp://a:4294971716/" NQN, "is not a port" }, { "nvme+tcp://a:+1/" NQN, "\"+1\" is not a port" },
		{ "nvme+tcp://a,b,c,d,e,f,g,h,i/" NQN, "\"i\" is one host too many" },
		{ "nvme+tcp://a,b", "a discovery service has one" },
		{ "nvme+tcp://a/x%20y", "\"x%20y\" is not a name" }, { "nvme+tcp://a/x%00", "is not a name" },
		{ "nvme+tcp://a/%07", "\"%07\" is not a name" }, { "nvme+tcp://a/x%ff", "is not a name" },
		{ "nvme+tcp://a/" NQN "?ns=0", "\"ns=0\"" }, { "nvme+tcp://a/" NQN "?ns=4294967295", "from 1 to" },
		{ "nvme+tcp://a/" NQN "?ns=", "\"ns=\"" }, { "nvme+tcp://a/" NQN "?ns=1x", "\"ns=1x\"" },
		{ "nvme+tcp://a/" NQN "?ns=1&ns=1", "once more" }, { "nvme+tcp://a?ns=1", "needs a subsystem" },
		{ "nvme+tcp://a/" NQN "?hostnqn=" NQN "&hostnqn=" NQN, "once more" },
		{ "nvme+tcp://a/" NQN "?hostnqn=", "\"\" is not a name" },
		{ "nvme+tcp://a/" NQN "?", "\"\" is not an option" },
		{ "nvme+tcp://a/" NQN "?ns=1&", "\"\" is not an option" },
		{ "nvme+tcp://a/" NQN "?nsid=1", "\"nsid=1\" is not an option" },
		{ "nvme+tcp://a/" NQN "#1", "\"#\" is a byte" }, { "nvme+tcp://a/" NQN " ", "\" \" is a byte" },
		{ "nvme+tcp://a/nqn.2026-11.\xc3\xbc", "\"\\xc3\" is a byte" },
		{ "nvme+tcp://a/" NQN "%", "\"%\" is not a byte" }, { "nvme+tcp://a/" NQN "%4", "\"%4\" is not" },
		{ "nvme+tcp://a/" NQN "%4g", "\"%4g\" is not" },
	};
	struct weir_uri uri, before;

	memset(&uri, 0x5a, sizeof(uri));
	before = uri;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(weir_uri_parse(rows[i].text, &uri), -EINVAL);
		if (strstr(weir_error(), rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].text, weir_error());
		assert_memory_equal(&uri, &before, sizeof(uri));
	}
}

/* ---- any of them ---- */

static void
random_text(struct rng *rng, char *out, size_t from, size_t most, const char *of)
{
	size_t length = from + rng_below(rng, most - from + 1);

	for (size_t i = from; i < length; i++)
		out[i] = of[rng_below(rng, strlen(of))];
}

static void
whatever_is_named_is_read_as_it_was_written(void **state)
{
	static const char any[] = "abcXYZ019 .-_~:/?#[]@!$&'()*+,;=%\"<>\\^`{|}";
	struct rng rng;

	rng_seed(&rng, 1);
	for (unsigned round = 0; round < 20000; round++) {
		struct weir_uri uri;

		memset(&uri, 0, sizeof(uri));
		strcpy(uri.subnqn, "nqn.2026-11.x");
		random_text(&rng, uri.subnqn, 13, WEIR_NQN_MAX, any);
		if (rng_below(&rng, 2) == 0)
			uri.nsid = (uint32_t)(1 + rng_below(&rng, UINT32_MAX - 1));
		if (rng_below(&rng, 2) == 0) {
			strcpy(uri.hostnqn, "nqn.2026-11.x");
			random_text(&rng, uri.hostnqn, 13, WEIR_NQN_MAX, any);
		}
		uri.addresses = (unsigned)(1 + rng_below(&rng, WEIR_PATHS_MAX));
		for (unsigned i = 0; i < uri.addresses; i++) {
			bool ipv6 = rng_below(&rng, 3) == 0;

			strcpy(uri.address[i].host, ipv6 ? "::" : "h");
			random_text(&rng, uri.address[i].host, ipv6 ? 2 : 1, 255, ipv6 ? "0aF:." : "a0-_.");
			uri.address[i].port = (uint16_t)(1 + rng_below(&rng, UINT16_MAX));
		}
		written_and_read_again_it_is_the_same(&uri);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subsystem_has_hosts_a_name_and_options),
		cmocka_unit_test(a_discovery_service_has_a_port_of_its_own),
		cmocka_unit_test(bytes_are_written_in_percent),
		cmocka_unit_test(a_name_need_not_be_an_nqn),
		cmocka_unit_test(the_longest_there_may_be),
		cmocka_unit_test(what_is_wrong_is_said_and_changes_nothing),
		cmocka_unit_test(whatever_is_named_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
