/*
 * print.c - a configuration as canonical YAML.
 *
 * What is as it would be without a word is left out, so that a file says what
 * its operator decided.  One value stands in one line, so that files can be
 * compared line by line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "conf/printer.h"

void
say(const struct printer *p, const char *format, ...)
{
	char text[256];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert(length >= 0 && (size_t)length < sizeof(text));
	p->put(p->arg, text, (size_t)length);
}

/* ---- texts ---- */

/* Whether any program that reads YAML takes it for this text when it stands without quotes. */
static bool
plain(const char *text)
{
	static const char *const words[] = { "null", "true", "false", "yes", "no", "on", "off", "y", "n" };
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t length = strlen(text);

	for (unsigned i = 0; i < COUNT_OF(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	if (length == 0 || (strchr(letters, text[0]) == NULL && text[0] != '/') || text[length - 1] == ':')
		return false;
	for (size_t i = 0; i < length; i++)
		if (strchr(letters, text[i]) == NULL && strchr("0123456789./_:@=+,-", text[i]) == NULL)
			return false;
	return true;
}

void
say_text(const struct printer *p, const char *text)
{
	bool quotes = !plain(text);

	if (quotes)
		say(p, "\"");
	for (; *text != '\0';) {
		size_t length = strcspn(text, "\"\\");

		p->put(p->arg, text, length);
		text += length;
		if (*text != '\0')
			say(p, "\\%c", *text++);
	}
	if (quotes)
		say(p, "\"");
}

void
line_text(const struct printer *p, const char *before, const char *key, const char *text)
{
	say(p, "%s%s: ", before, key);
	say_text(p, text);
	say(p, "\n");
}

static void
line_address(const struct printer *p, const char *before, const struct conf_address *address)
{
	char text[CONF_ADDRESS_TEXT];

	conf_address_text(address, text);
	say(p, text[0] == '[' ? "%saddress: \"%s\"\n" : "%saddress: %s\n", before, text);
}

void
line_time(const struct printer *p, const char *before, const char *key, uint32_t ms)
{
	if (ms % 60000 == 0)
		say(p, "%s%s: %um\n", before, key, ms / 60000);
	else if (ms % 1000 == 0)
		say(p, "%s%s: %us\n", before, key, ms / 1000);
	else
		say(p, "%s%s: %ums\n", before, key, ms);
}

/* ---- parts ---- */

static void
say_listener(const struct printer *p, const struct conf_listener *l)
{
	char address[CONF_ADDRESS_TEXT];

	conf_address_text(&l->address, address);
	if (strcmp(l->name, address) != 0)
		line_text(p, "  - ", "name", l->name);
	line_address(p, strcmp(l->name, address) != 0 ? "    " : "  - ", &l->address);
	if (l->discovery != CONF_DISCOVERY_YES)
		say(p, "    discovery: %s\n", conf_discovery_words[l->discovery]);
}

static void
say_id(const struct printer *p, const char *key, const uint8_t id[16], bool uuid)
{
	static const uint8_t none[16];

	if (memcmp(id, none, sizeof(none)) == 0)
		return;
	say(p, "        %s: \"", key);
	for (unsigned i = 0; i < 16; i++)
		say(p, uuid && (i == 4 || i == 6 || i == 8 || i == 10) ? "-%02x" : "%02x", id[i]);
	say(p, "\"\n");
}

static void
say_ns(const struct printer *p, const struct conf *conf, const struct conf_ns *ns)
{
	char size[SIZE_TEXT];

	say(p, "      - nsid: %u\n", ns->nsid);
	line_text(p, "        ", "volume", ns->volume);
	size_print(ns->size, size);
	if (ns->size != 0)
		say(p, "        size: %s\n", size);
	if (ns->block_size != 4096)
		say(p, "        block_size: %u\n", ns->block_size);
	say_id(p, "nguid", ns->nguid, false);
	say_id(p, "uuid", ns->uuid, true);
	if (ns->ana_group != 1)
		say(p, "        ana_group: %u\n", ns->ana_group);
	if (ns->write_protected)
		say(p, "        write_protected: yes\n");
	say_ns_qos(p, &conf->qos, ns);
}

static void
say_ana(const struct printer *p, const struct conf *conf, const struct conf_ana *ana)
{
	bool any = false;

	say(p, "      - id: %u\n", ana->id);
	if (ana->state != CONF_ANA_OPTIMIZED)
		say(p, "        state: %s\n", conf_ana_text(ana->state));
	for (uint32_t i = 0; i < conf->listener_count; i++) {
		if (ana->on[i] == 0)
			continue;
		if (!any)
			say(p, "        on:\n");
		any = true;
		say(p, "          ");
		say_text(p, conf->listeners[i].name);
		say(p, ": %s\n", conf_ana_text(ana->on[i]));
	}
}

static void
say_ana_groups(const struct printer *p, const struct conf *conf, const struct conf_subsys *subsys)
{
	static const uint8_t nowhere[CONF_LISTENERS_MAX];
	const struct conf_ana *first = &subsys->ana[0];

	if (subsys->ana_count == 1 && first->id == 1 && first->state == CONF_ANA_OPTIMIZED &&
	    memcmp(first->on, nowhere, sizeof(nowhere)) == 0)
		return;
	say(p, "    ana_groups:\n");
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		say_ana(p, conf, &subsys->ana[i]);
}

static void
say_subsys_limits(const struct printer *p, const struct conf_subsys *subsys)
{
	if (subsys->controllers_max == CONF_DEFAULT_CONTROLLERS && subsys->queues_max == CONF_DEFAULT_QUEUES &&
	    subsys->entries_max == CONF_DEFAULT_QUEUE_ENTRIES)
		return;
	say(p, "    limits:\n");
	if (subsys->controllers_max != CONF_DEFAULT_CONTROLLERS)
		say(p, "      controllers: %u\n", subsys->controllers_max);
	if (subsys->queues_max != CONF_DEFAULT_QUEUES)
		say(p, "      queues: %u\n", subsys->queues_max);
	if (subsys->entries_max != CONF_DEFAULT_QUEUE_ENTRIES)
		say(p, "      queue_entries: %u\n", subsys->entries_max);
}

static void
say_pool(const struct printer *p, const struct conf_subsys *subsys)
{
	char size[SIZE_TEXT];

	if (subsys->pool == NULL)
		return;
	say(p, "    host_namespaces:\n");
	line_text(p, "      ", "volume", subsys->pool);
	size_print(subsys->pool_size, size);
	say(p, "      size: %s\n", size);
	if (subsys->pool_count != CONF_DEFAULT_POOL_COUNT)
		say(p, "      count: %u\n", subsys->pool_count);
}

static void
say_item(const struct printer *p, const char *text)
{
	say(p, "      - ");
	say_text(p, text);
	say(p, "\n");
}

static void
say_subsys(const struct printer *p, const struct conf *conf, const struct conf_subsys *subsys)
{
	line_text(p, "  - ", "nqn", subsys->nqn);
	if (subsys->serial != NULL)
		line_text(p, "    ", "serial", subsys->serial);
	if (subsys->model != NULL)
		line_text(p, "    ", "model", subsys->model);
	if (!subsys->all_listeners)
		say(p, "    listeners:\n");
	for (uint32_t i = 0; i < conf->listener_count && !subsys->all_listeners; i++)
		if (subsys->listeners & UINT32_C(1) << i)
			say_item(p, conf->listeners[i].name);
	if (!subsys->any_host)
		say(p, subsys->host_count == 0 ? "    hosts: []\n" : "    hosts:\n");
	for (uint32_t i = 0; i < subsys->host_count; i++)
		say_item(p, subsys->hosts[i]);
	if (subsys->static_controllers)
		say(p, "    controllers: static\n");
	say_subsys_limits(p, subsys);
	say_ana_groups(p, conf, subsys);
	say_pool(p, subsys);
	if (subsys->ns_count > 0)
		say(p, "    namespaces:\n");
	for (uint32_t i = 0; i < subsys->ns_count; i++)
		say_ns(p, conf, &subsys->ns[i]);
}

static void
say_order_log(const struct printer *p, const struct conf_order_log *log)
{
	char slots[SIZE_TEXT];

	if (log->place == NULL)
		return;
	say(p, "order_log:\n");
	line_text(p, "  ", "place", log->place);
	size_print(log->slots, slots);
	if (log->slots > 0)
		say(p, "  slots: %s\n", slots);
}

void
conf_print(const struct conf *conf, void (*put)(void *arg, const char *text, size_t bytes), void *arg)
{
	const struct printer p = { put, arg };

	if (conf->state_dir != NULL)
		line_text(&p, "", "state_dir", conf->state_dir);
	say_order_log(&p, &conf->order_log);
	say(&p, "listeners:\n");
	for (uint32_t i = 0; i < conf->listener_count; i++)
		say_listener(&p, &conf->listeners[i]);
	if (conf->subsys_count > 0)
		say(&p, "subsystems:\n");
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		say_subsys(&p, conf, &conf->subsys[i]);
	if (conf->referral_count > 0)
		say(&p, "referrals:\n");
	for (uint32_t i = 0; i < conf->referral_count; i++)
		line_address(&p, "  - ", &conf->referrals[i]);
	if (conf->connections_max != CONF_DEFAULT_CONNECTIONS)
		say(&p, "limits:\n  connections: %u\n", conf->connections_max);
	if (conf->handshake_ms != CONF_DEFAULT_HANDSHAKE_MS || conf->stall_ms != CONF_DEFAULT_STALL_MS)
		say(&p, "timeouts:\n");
	if (conf->handshake_ms != CONF_DEFAULT_HANDSHAKE_MS)
		line_time(&p, "  ", "handshake", conf->handshake_ms);
	if (conf->stall_ms != CONF_DEFAULT_STALL_MS)
		line_time(&p, "  ", "stall", conf->stall_ms);
	say_qos(&p, &conf->qos);
}
