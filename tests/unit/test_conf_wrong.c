/*
 * conf/, files that are wrong: each mistake is found, in its line, in words that name it, and alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"

/* Right as they are, but for `Q`, which goes on: of two, four, seven, three, five and five lines. */
#define L "listeners:\n  - address: 192.0.2.1\n"
#define S L "subsystems:\n  - nqn: nqn.2026-11.a\n"
#define N S "    namespaces:\n      - nsid: 1\n        volume: file:/a\n"
#define Q L "qos:\n"
#define D Q "  devices:\n  - name: d\n"
#define T Q "  tenants:\n  - host: nqn.2026-11.h\n"
#define LONG_NQN \
	"nqn.2026-11.2345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345"
#define NQN_223 LONG_NQN "1234567"

struct wrong {
	const char *text;
	uint32_t line;
	const char *words;
};

static const struct wrong wrongs[] = {
	/* not YAML, or more of it than is needed */
	{ "", 1, "there is nothing in it" },
	{ "# nothing\n\n", 1, "there is nothing in it" },
	{ "---\n", 2, "the file is keys with values, like `listeners: ...`" },
	{ "- a\n", 1, "the file is keys with values" },
	{ L "x: [1, 2\n", 4, "not YAML: did not find expected ',' or ']'" },
	{ L "\tx: 1\n", 3, "not YAML: found a tab character that violates indentation, while scanning a plain scalar" },
	{ L "subsystems: a: b\n", 3, "not YAML: mapping values are not allowed in this context" },
	{ L "state_dir: \"/x\n", 4, "not YAML: found unexpected end of stream" },
	{ L "---\n" L, 3, "a second document begins here" },
	{ "%YAML 1.1\n---\n" L, 1, "directives (lines that begin with %) cannot be used" },
	{ L "# \xff\n", 3, "byte FFh is not UTF-8" },
	{ L "# \xc0\xaf\n", 3, "byte C0h is not UTF-8" },
	{ L "# \xed\xa0\x80\n", 3, "byte EDh is not UTF-8" },
	{ L "# \xf4\x90\x80\x80\n", 3, "byte F4h is not UTF-8" },
	{ L "# \xe2\x82", 3, "byte E2h is not UTF-8" },
	{ "\x01", 1, "the control character U+0001 cannot be in it" },
	{ L "# \xef\xbb\xbf\n", 3, "the control character U+FEFF cannot be in it" },
	{ L "# \x01\n", 3, "the control character U+0001 cannot be in it" },
	{ "#\r\n#\r#\n#\x7f\n", 4, "the control character U+007F cannot be in it" },
	{ L "# \xe2\x80\xa8\n", 3, "the control character U+2028 cannot be in it" },
	{ L "state_dir: \"/a\\0b\"\n", 3, "the control character U+0000 cannot be in a value" },
	{ L "state_dir: \"/a\\nb\"\n", 3, "the control character U+000A cannot be in a value" },
	{ L "state_dir: |\n  /a\n", 3, "the control character U+000A cannot be in a value" },
	{ L "state_dir: !!str /x\n", 3, "tags (`tag:yaml.org,2002:str`) cannot be used" },
	{ L "subsystems: !x []\n", 3, "tags (`!x`) cannot be used" },
	{ L "limits: !x {}\n", 3, "tags (`!x`) cannot be used" },
	{ L "state_dir: *a\n", 3, "there is no anchor `a` above" },
	{ L "subsystems: &a [*a]\n", 3, "the alias `a` stands inside what it names" },
	{ "[[[[[[[[[[[[[[[[[a]]]]]]]]]]]]]]]]]\n", 1, "nested deeper than 16" },
	/* keys */
	{ L "listenrs: []\n", 3, "the file has no key `listenrs`; `listeners` is meant?" },
	{ L "size: 1\n", 3, "the file has no key `size`; there is listeners, subsystems, state_dir, referrals, "
	    "limits, timeouts, qos or order_log" },
	{ L "<<: { a: b }\n", 3, "the file has no key `<<`" },
	{ L "limits: {}\ntimeouts: {}\nlimits: {}\n", 5, "`limits` is there twice, first in line 3" },
	{ L "? [a]\n: b\n", 3, "a key of the file is not a word" },
	{ "subsystems: []\n", 1, "the file needs `listeners`" },
	/* listeners */
	{ "listeners: 192.0.2.1\n", 1, "`listeners` is a list" },
	{ "listeners:\n", 1, "`listeners` is a list" },
	{ "listeners: []\n", 1, "`listeners` has 1 at least" },
	{ "listeners: [192.0.2.1]\n", 1, "a listener is keys with values, like `address: ...`" },
	{ "listeners:\n  - name: a\n", 2, "a listener needs `address`" },
	{ "listeners:\n  - name: a\n    adress: 192.0.2.1\n", 3,
	    "a listener has no key `adress`; `address` is meant?" },
	{ "listeners:\n  - address: 192.0.2\n", 2, "`address` is numeric, like 192.0.2.1:4420 or" },
	{ "listeners:\n  - address: localhost\n", 2, "not `localhost`" },
	{ "listeners:\n  - address: 192.0.2.1:65536\n", 2, "not `192.0.2.1:65536`" },
	{ "listeners:\n  - address: 192.0.2.1:\n", 2, "not YAML" },
	{ "listeners:\n  - address: \"192.0.2.1:\"\n", 2, "not `192.0.2.1:`" },
	{ "listeners:\n  - address: \"192.0.2.1:1x\"\n", 2, "not `192.0.2.1:1x`" },
	{ "listeners:\n  - address: 2001:db8::1\n", 2, "not `2001:db8::1`" },
	{ "listeners:\n  - address: \"[2001:db8::1\"\n", 2, "not `[2001:db8::1`" },
	{ "listeners:\n  - address: \"[192.0.2.1]\"\n", 2, "not `[192.0.2.1]`" },
	{ "listeners:\n  - address: \"[fe80::1%]\"\n", 2, "not `[fe80::1%]`" },
	{ "listeners:\n  - address: [a]\n", 2, "`address` is one value, not a list" },
	{ "listeners:\n  - address: {a: b}\n", 2, "`address` is one value, not a mapping" },
	{ L "    name: a b\n", 3, "`name` is 1 to 63 letters, digits and - _ . : % [ ], not `a b`" },
	{ L "    name: ''\n", 3, "`name` is 1 to 63 letters" },
	{ L "    discovery: maybe\n", 3, "`discovery` is yes, no, only, true or false, not `maybe`" },
	{ L "  - address: 192.0.2.1:4420\n    name: b\n", 3, "192.0.2.1:4420 is not free: another listener has "
	    "192.0.2.1:4420" },
	{ L "  - address: 0.0.0.0\n", 3, "0.0.0.0:4420 is not free: another listener has 192.0.2.1:4420" },
	{ L "  - address: '[::]'\n", 3, "[::]:4420 is not free: another listener has 192.0.2.1:4420" },
	{ "listeners:\n  - address: '[::]'\n  - address: 192.0.2.1\n", 3, "192.0.2.1:4420 is not free: another "
	    "listener has [::]:4420" },
	{ "listeners:\n  - address: '[2001:db8::1]'\n  - address: '[2001:DB8:0::1]'\n    name: b\n", 3, "is not free" },
	{ L "    name: a\n  - address: 192.0.2.2\n    name: a\n", 4, "two listeners have the name `a`" },
	{ L "  - address: 192.0.2.2\n    name: 192.0.2.1:4420\n", 3, "two listeners have the name `192.0.2.1:4420`" },
	/* the first level */
	{ L "state_dir: var\n", 3, "`state_dir` is an absolute path, not `var`" },
	{ L "state_dir: /" NQN_223 NQN_223 "\n", 3, "`state_dir` has 255 bytes at most, not 447" },
	{ L "order_log: /a\n", 3, "`order_log` is keys with values, like `place: ...`" },
	{ L "order_log: { slots: 1K }\n", 3, "`order_log` needs `place`" },
	{ L "order_log: { place: 'file:a' }\n", 3,
	    "the place of `order_log` is file:, memory: or persistent: and an absolute path, not `file:a`" },
	{ L "order_log: { place: 'memory:/" NQN_223 NQN_223 "' }\n", 3,
	    "the place of `order_log` has 255 bytes at most, not 454" },
	{ L "order_log: { place: 'disk:/a' }\n", 3,
	    "the place of `order_log` is file:, memory: or persistent: and an absolute path, not `disk:/a`" },
	{ L "order_log: { place: 'file:/a', slots: 512 }\n", 3, "`slots` is a power of two, 1024 to 16M, not `512`" },
	{ L "order_log: { place: 'file:/a', slots: 3K }\n", 3, "`slots` is a power of two, 1024 to 16M, not `3K`" },
	{ L "state_dir: [a]\n", 3, "`state_dir` is one value, not a list" },
	{ L "limits: 5\n", 3, "`limits` is keys with values, like `connections: ...`" },
	{ L "limits: { connections: 0 }\n", 3, "`connections` is a number from 1 to 1000000, not `0`" },
	{ L "limits: { connections: 1000001 }\n", 3, "`connections` is a number from 1 to 1000000, not `1000001`" },
	{ L "limits:\n  connections: 1e3\n", 4, "`connections` is a number from 1 to 1000000, not `1e3`" },
	{ L "limits:\n  connections: 18446744073709551617\n", 4, "`connections` is a number" },
	{ L "timeouts:\n  stall: 10\n", 4, "`stall` is a time from 1ms to 60m, like 500ms, 10s or 2m, not `10`" },
	{ L "timeouts:\n  handshake: 61m\n", 4, "`handshake` is a time from 1ms to 60m" },
	{ L "timeouts:\n  handshake: 0s\n", 4, "`handshake` is a time" },
	{ L "timeouts:\n  handshake: 1 s\n", 4, "`handshake` is a time" },
	{ L "timeouts:\n  handshake: 71582789m\n", 4, "`handshake` is a time" },
	{ L "timeouts:\n  stal: 1s\n", 4, "`timeouts` has no key `stal`; `stall` is meant?" },
	{ L "referrals:\n  - 192.0.2.9\n", 4, "a referral is keys with values" },
	{ L "referrals:\n  - address: 192.0.2.9\n  - address: 192.0.2.9:8009\n", 5,
	    "two referrals have the address 192.0.2.9" },
	{ L "referrals:\n  - address: 192.0.2.9:0\n", 4, "a referral has a port, and not 0" },
	/* subsystems */
	{ L "subsystems: {}\n", 3, "`subsystems` is a list, [] where it is empty" },
	{ L "subsystems:\n  - serial: a\n", 4, "a subsystem needs `nqn`" },
	{ L "subsystems:\n  - nqn: store\n", 4, "`store` is not an NQN: it begins with nqn., a date as 2026-11 and a "
	    "full stop, and goes on" },
	{ L "subsystems:\n  - nqn: nqn.\n", 4, "`nqn.` is not an NQN" },
	{ L "subsystems:\n  - nqn: nqn.2026-11.\n", 4, "`nqn.2026-11.` is not an NQN" },
	{ L "subsystems:\n  - nqn: nqn.2026-1a.b\n", 4, "`nqn.2026-1a.b` is not an NQN" },
	{ L "subsystems:\n  - nqn: " NQN_223 "x\n", 4, "an NQN has 223 bytes at most, not 224: `nqn.2026" },
	{ L "subsystems:\n  - nqn: nqn.2014-08.org.nvmexpress.discovery\n", 4, "is the discovery subsystem's" },
	{ S "  - nqn: nqn.2026-11.a\n", 5, "two subsystems have the NQN `nqn.2026-11.a`" },
	{ S "    serial: 123456789012345678901\n", 5, "`serial` has 1 to 20 characters, not 21" },
	{ S "    serial: #a\n", 5, "`serial` has 1 to 20 characters, not 0" },
	{ S "    serial: ''\n", 5, "`serial` has 1 to 20 characters, not 0" },
	{ S "    serial: \xc3\xa4\n", 5, "`serial` is ASCII" },
	{ S "    serial: ' a'\n", 5, "`serial` begins or ends with a space: ` a`" },
	{ S "    model: 'a '\n", 5, "`model` begins or ends with a space" },
	{ S "    model: 12345678901234567890123456789012345678901\n", 5, "`model` has 1 to 40 characters, not 41" },
	{ S "    listeners: []\n", 5, "`listeners` has 1 at least" },
	{ S "    listeners: [front]\n", 5, "there is no listener `front`; there is 192.0.2.1:4420" },
	{ S "    listeners: [192.0.2.1:4420, 192.0.2.1:4420]\n", 5, "the listener `192.0.2.1:4420` is there twice" },
	{ L "  - address: 192.0.2.1:8009\n    discovery: only\nsubsystems:\n  - nqn: nqn.2026-11.a\n    listeners: "
	    "[192.0.2.1:8009]\n", 7, "the listener `192.0.2.1:8009` is for discovery only" },
	{ L "    discovery: only\nsubsystems:\n  - nqn: nqn.2026-11.a\n", 5, "every listener is for discovery only" },
	{ S "    hosts:\n", 5, "`hosts` is a list, [] where it is empty" },
	{ S "    hosts: nqn.2026-11.h\n", 5, "`hosts` is a list" },
	{ S "    hosts:\n      - nqn.2026-11.h\n      - h\n", 7, "`h` is not an NQN" },
	{ S "    hosts:\n      - nqn.2026-11.h\n      - nqn.2026-11.h\n", 7,
	    "the host `nqn.2026-11.h` is there twice" },
	{ S "    controllers: fixed\n", 5, "`controllers` is dynamic or static" },
	{ S "    controllers: 5\n", 5, "`controllers` is dynamic or static" },
	{ S "    limits: { controllers: 65520 }\n", 5, "`controllers` is a number from 1 to 65519" },
	{ S "    limits: { queues: 129 }\n", 5, "`queues` is a number from 1 to 128" },
	{ S "    limits: { queue_entries: 1 }\n", 5, "`queue_entries` is a number from 2 to 1024" },
	{ S "    limits: { queue_entries: 1025 }\n", 5, "`queue_entries` is a number from 2 to 1024" },
	{ S "    limits: { connections: 1 }\n", 5, "`limits` of a subsystem has no key `connections`; there is "
	    "controllers, queues or queue_entries" },
	/* ANA groups */
	{ S "    host_namespaces: mem\n", 5, "`host_namespaces` is keys with values, like `volume: ...`" },
	{ S "    host_namespaces: { volume: mem }\n", 5, "`host_namespaces` needs `size`" },
	{ S "    host_namespaces: { size: 1G }\n", 5, "`host_namespaces` needs `volume`" },
	{ S "    host_namespaces: { volume: mem, size: 1G, count: 0 }\n", 5,
	    "`count` is a number from 1 to 1024, not `0`" },
	{ S "    host_namespaces: { volume: mem, size: 1G, count: 1025 }\n", 5,
	    "`count` is a number from 1 to 1024, not `1025`" },
	{ S "    host_namespaces: { volume: null, size: 1G }\n", 5, "hosts make namespaces in mem or in file:FOLDER" },
	{ S "    host_namespaces: { volume: \"file:\", size: 1G }\n", 5, "not in `file:`" },
	{ S "    host_namespaces: { volume: file:/, size: 1G }\n", 5, "not in `file:/`" },
	{ S "    host_namespaces: { volume: file:x, size: 1G }\n", 5, "not in `file:x`" },
	{ S "    host_namespaces: { volume: file:/x, size: 1G }\n", 5, "namespaces in files need a `state_dir`" },
	{ S "    host_namespaces: { volume: \"file:/x,y\", size: 1G }\n", 5, "has no comma" },
	{ S "    host_namespaces: { volume: file:/" NQN_223 ", size: 1G }\n", 5, "has 150 bytes at most, not 229" },
	{ S "    host_namespaces:\n      volume: mem\n      size: 1K\n", 7, "`size` is 1M at least, not `1K`" },
	{ S "    ana_groups: []\n", 5, "`ana_groups` has 1 at least" },
	{ S "    ana_groups:\n      - state: change\n", 6, "an ANA group needs `id`" },
	{ S "    ana_groups:\n      - id: 65\n", 6, "`id` is a number from 1 to 64, not `65`" },
	{ S "    ana_groups:\n      - id: 1\n      - id: 1\n", 7, "two ANA groups have the id 1" },
	{ S "    ana_groups:\n      - id: 1\n        state: gone\n", 7, "`state` is optimized, non-optimized, "
	    "inaccessible, persistent-loss or change, not `gone`" },
	{ S "    ana_groups:\n      - id: 1\n        on: back\n", 7, "`on` is listeners with states" },
	{ S "    ana_groups:\n      - id: 1\n        on: { back: change }\n", 7, "there is no listener `back`" },
	{ S "    ana_groups:\n      - id: 1\n        on: { 192.0.2.1:4420: gone }\n", 7,
	    "`192.0.2.1:4420` is optimized" },
	{ S "    ana_groups:\n      - id: 1\n        on: { 192.0.2.1:4420: change, 192.0.2.1:4420: change }\n", 7,
	    "`192.0.2.1:4420` is there twice" },
	{ L "  - address: 192.0.2.2\nsubsystems:\n  - nqn: nqn.2026-11.a\n    listeners: [192.0.2.1:4420]\n"
	    "    ana_groups:\n      - id: 1\n        on: { 192.0.2.2:4420: change }\n", 9,
	    "the subsystem is not on the listener `192.0.2.2:4420`" },
	/* namespaces */
	{ S "    namespaces:\n      - volume: mem\n        size: 1M\n", 6, "a namespace needs `nsid`" },
	{ S "    namespaces:\n      - nsid: 1\n", 6, "a namespace needs `volume`" },
	{ S "    namespaces:\n      - nsid: 0\n        volume: file:/a\n", 6,
	    "`nsid` is a number from 1 to 1024, not `0`" },
	{ S "    namespaces:\n      - nsid: 1025\n        volume: file:/a\n", 6, "`nsid` is a number from 1 to 1024" },
	{ N "      - nsid: 1\n        volume: file:/b\n", 8, "two namespaces of the subsystem have the nsid 1" },
	{ N "      - nsid: 2\n        volume: file:/a\n", 8, "two namespaces have the file `/a`" },
	{ N "      - nsid: 2\n        volume: fault:read-error=1@file:/a\n", 8, "two namespaces have the file `/a`" },
	{ N "  - nqn: nqn.2026-11.b\n    namespaces:\n      - nsid: 1\n        volume: file:/a\n", 10,
	    "two namespaces have the file `/a`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: mem\n", 7, "`mem` needs `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: null\n", 7, "`null` needs `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: mem:1G\n", 7,
	    "`mem:1G`: it is `mem` alone, and the size stands in `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: disk:/a\n", 7,
	    "`disk:/a` is not a volume; there are mem, "
	    "null, file:PATH, flash:PROFILE, fault:FAULT@VOLUME and volatile:OPTIONS@VOLUME" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: flash:,seed=1\n", 7,
	    "a modelled drive is written flash:" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: flash:a,size=1G\n", 7, "the size stands in `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: flash:a\n", 7, "needs `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: file:a\n", 7,
	    "`file:a`: the path of a file begins with /" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: file:/\n", 7,
	    "the path of a file begins with / and goes on" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: file:/a,size=1G\n", 7, "the size stands in `size`" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: fault:x\n", 7,
	    "a filter is written fault:FAULT@VOLUME" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: fault:@file:/a\n", 7, "a filter is written" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: fault:x@disk\n", 7, "is not a volume" },
	{ S "    namespaces:\n      - nsid: 1\n        volume: file:/" NQN_223 "\n", 7,
	    "a volume's text has 220 bytes at "
	    "most, not 229" },
	{ N "        size: 10 G\n", 8, "`size` is a number with K, M, G or T, like 10G, not `10 G`" },
	{ N "        size: 512K\n", 8, "`size` is 1M at least, not `512K`" },
	{ N "        size: 8388608T\n", 8, "`size`: `8388608T` is too large" },
	{ N "        size: 1048577\n", 8, "`size` is a multiple of the block size, 4096, which `1048577` is not" },
	{ N "        block_size: 1024\n", 8, "`block_size` is 512 or 4096, not `1024`" },
	{ N "        nguid: 12\n", 8, "`nguid` is 32 hexadecimal digits, not `12`" },
	{ N "        nguid: 0123456789abcdef0123456789abcdefa\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: 0123456789abcdef0123456789abcdeg\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: -0123456789abcdef0123456789abcdef\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: 0123456789abcdef0123456789abcdef-\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: 01--23456789abcdef0123456789abcdef\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: 0-123456789abcdef0123456789abcdef\n", 8, "`nguid` is 32 hexadecimal digits" },
	{ N "        nguid: '00000000000000000000000000000000'\n", 8, "`nguid` is all zeros, which is none" },
	{ N "        uuid: 0123456789abcdef0123456789abcdef\n", 8, "`uuid` is 32 hexadecimal digits as 8-4-4-4-12" },
	{ N "        uuid: 01234567-89ab-cdef-0123--456789abcdef\n", 8, "`uuid` is 32 hexadecimal digits" },
	{ N "        uuid: 00000000-0000-0000-0000-000000000000\n", 8, "`uuid` is all zeros" },
	{ N "        nguid: 0123456789abcdef0123456789abcdef\n      - nsid: 2\n        volume: file:/b\n"
	    "        nguid: 01234567-89ABCDEF-01234567-89ABCDEF\n", 9, "two namespaces have this NGUID" },
	{ N "        uuid: 01234567-89ab-cdef-0123-456789abcdef\n  - nqn: nqn.2026-11.b\n    namespaces:\n"
	    "      - nsid: 1\n        volume: file:/b\n        uuid: 01234567-89ab-cdef-0123-456789abcdef\n", 11,
	    "two namespaces have this UUID" },
	{ N "        ana_group: 2\n", 8, "the subsystem has no ANA group 2" },
	{ N "    ana_groups: [{ id: 2 }]\n", 6, "the subsystem has no ANA group 1" },
	{ N "        write_protected: maybe\n", 8, "`write_protected` is yes, no, true or false, not `maybe`" },
	{ N "        writeprotected: yes\n", 8,
	    "a namespace has no key `writeprotected`; `write_protected` is meant?" },
	/* fair sharing */
	{ Q "  mode: fair\n", 4, "`mode` is off, caps or gimbal, not `fair`" },
	{ L "qos: gimbal\n", 3, "`qos` is keys with values, like `mode: ...`" },
	{ Q "  tenant: []\n", 4, "`qos` has no key `tenant`; `tenants` is meant?" },
	{ D "    slots: 33\n", 6, "the device `d` cannot be so: slots are 1 to 32" },
	{ D "    slots: 2\n    slots_least: 4\n", 6, "slots are 1 to 32, and slots_least 1 to as many" },
	{ D "    read_cost: [1, 1, 1, 1, 1, 0]\n", 6, "a byte costs from 1/1024 to 256 times" },
	{ D "    read_cost: [1, 1, 1, 1, 1]\n", 6, "`read_cost` has 6 at least" },
	{ D "    read_cost: [1, 1, 1, 1, 1, 1, 1]\n", 6, "`read_cost` has 6 at most, not 7" },
	{ D "    read_cost: 1\n", 6, "`read_cost` is a list" },
	{ D "    write_cost: [1, 1, 1, 1, 1, 1.2345]\n", 6,
	    "`write_cost` is a number with three decimals at most, like 1.25, not `1.2345`" },
	{ D "    write_cost_worst: 1.\n", 6, "`write_cost_worst` is a number with three decimals" },
	{ D "    write_cost_worst: .5\n", 6, "`write_cost_worst` is a number with three decimals" },
	{ D "    write_cost_worst: -1\n", 6, "`write_cost_worst` is a number with three decimals" },
	{ D "    write_cost_worst: 0.999\n", 6, "write_cost_worst: a written byte costs from 1 to 256 times" },
	{ D "    write_cost_worst: 99999999\n", 6, "`write_cost_worst` is a number with three decimals" },
	{ D "    write_cost_worst: 4194304\n", 6, "`write_cost_worst` is a number with three decimals" },
	{ D "    latency_min_us: 1500\n", 6, "latency_min_us is above 0, and below latency_max_us" },
	{ D "    latency_max_us: 5000000\n", 6, "`latency_max_us` is a number of microseconds with three decimals" },
	{ D "    inflight: 64K\n", 6, "inflight is a slot, 128 KiB, at least" },
	{ D "    inflight: 4G\n", 6, "`inflight` is a number with K, M, G or T, like 256K, not `4G`" },
	{ D "    rate_most: 2T\n", 6, "rate_least is above 0" },
	{ D "    rate_first: 6G\n    rate_most: 8G\n    rate_least: 0\n", 8, "rate_least is above 0" },
	{ D "    beta: 3\n    quantum: 8K\n    rate_most: 2T\n", 8, "rate_least is above 0" },
	{ D "    rate_first: fast\n", 6, "`rate_first` is a number with K, M, G or T, like 256K, not `fast`" },
	{ D "    beta: 1.5\n", 6, "`beta` is a number, not `1.5`" },
	{ D "    slot: 1\n", 6, "a device has no key `slot`; `slots` is meant?" },
	{ Q "  devices:\n  - slots: 8\n", 5, "a device needs `name`" },
	{ Q "  devices: [ { name: a b } ]\n", 4, "`name` is 1 to 63 letters, digits" },
	{ D "  - name: d\n", 6, "two devices have the name `d`" },
	{ Q "  groups:\n  - name: g\n    weight: 0\n", 6, "`weight` is a number from 1 to 10000, not `0`" },
	{ Q "  groups:\n  - name: g\n    weight: 10001\n", 6, "`weight` is a number from 1 to 10000, not `10001`" },
	{ Q "  groups:\n  - name: g\n  - name: g\n", 6, "two groups have the name `g`" },
	{ Q "  groups:\n  - weight: 2\n", 5, "a group needs `name`" },
	{ Q "  tenants:\n  - weight: 2\n", 5, "a tenant needs `host`" },
	{ T "    weight: 0.5\n", 6, "`weight` is a number from 1 to 10000, not `0.5`" },
	{ T "    group: gold\n", 6, "there is no group `gold`" },
	{ T "  - host: nqn.2026-11.h\n", 6, "the tenant `nqn.2026-11.h` is there twice" },
	{ T "  - host: h\n", 6, "`h` is not an NQN" },
	{ T "    limits: 5\n", 6, "`limits` is keys with values, like `read_iops: ...`" },
	{ T "    limits: { read_iops: 0 }\n", 6, "`read_iops` is a number from 1 to 1000000000, not `0`" },
	{ T "    limits: { write_iops: 1G }\n", 6, "`write_iops` is a number from 1 to 1000000000, not `1G`" },
	{ T "    limits: { read_bandwidth: 0 }\n", 6, "`read_bandwidth` is bytes a second, a number with K, M, G or T "
	    "from 1 to 1T, not `0`" },
	{ T "    limits: { write_bandwidth: 2T }\n", 6, "from 1 to 1T, not `2T`" },
	{ T "    limits: { burst: 61m }\n", 6, "`burst` is a time from 1ms to 60m" },
	{ N "        qos: { mode: on }\n", 8, "`mode` is off, caps or gimbal, not `on`" },
	{ N "        qos: { device: d }\n", 8, "there is no device `d`" },
	{ N "        qos: { devices: d }\n", 8, "`qos` of a namespace has no key `devices`; `device` is meant?" },
	{ N "        qos: { limits: { iops: 5 } }\n", 8, "`limits` has no key `iops`" },
};

static void
each_mistake_is_named_in_its_line(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		struct conf_errors errors;
		struct arena arena;
		struct conf *conf;
		int error;

		arena_init(&arena, 0);
		error = conf_parse(&arena, w->text, strlen(w->text), &conf, &errors);
		if (error != -EINVAL || conf != NULL || errors.count != 1 || errors.more ||
		    errors.list[0].line != w->line ||
		    strstr(errors.list[0].text, w->words) == NULL) {
			for (uint32_t e = 0; e < errors.count; e++)
				print_error("%u: %s\n", errors.list[e].line, errors.list[e].text);
			print_error("%d for\n%s\nwanted line %u: %s\n", error, w->text, w->line, w->words);
			failures++;
		}
		arena_drop(&arena);
	}
	assert_int_equal(failures, 0);
}

static void
a_byte_of_zero_is_found_where_it_is(void **state)
{
	static const char text[] = L "# \0\n";
	struct conf_errors errors;
	struct arena arena;
	struct conf *conf;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(conf_parse(&arena, text, sizeof(text) - 1, &conf, &errors), -EINVAL);
	assert_int_equal(errors.list[0].line, 3);
	assert_string_equal(errors.list[0].text, "the control character U+0000 cannot be in it");
	arena_drop(&arena);
}

static void
several_mistakes_are_told_in_the_order_of_lines(void **state)
{
	static const char text[] =
	    "limits: { connections: 0 }\nsubsystems:\n  - nqn: x\n    serial: ''\n    namespaces:\n"
	    "      - nsid: 0\n        volume: disk\nlisteners:\n  - address: x\n";
	static const uint32_t lines[] = { 1, 3, 4, 6, 7, 9 };
	struct conf_errors errors;
	struct arena arena;
	struct conf *conf;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(conf_parse(&arena, text, sizeof(text) - 1, &conf, &errors), -EINVAL);
	assert_int_equal(errors.count, sizeof(lines) / sizeof(lines[0]));
	for (uint32_t i = 0; i < errors.count; i++)
		assert_int_equal(errors.list[i].line, lines[i]);
	arena_drop(&arena);
}

static void
twenty_mistakes_are_told_and_that_there_are_more(void **state)
{
	for (unsigned mistakes = 19; mistakes <= 22; mistakes++) {
		char text[1024] = L;
		struct conf_errors errors;
		struct arena arena;
		struct conf *conf;

		(void)state;
		arena_init(&arena, 0);
		for (unsigned i = 0; i < mistakes; i++)
			sprintf(text + strlen(text), "wrong%u: 1\n", i);
		assert_int_equal(conf_parse(&arena, text, strlen(text), &conf, &errors), -EINVAL);
		assert_int_equal(errors.count, mistakes < CONF_ERRORS_MAX ? mistakes : CONF_ERRORS_MAX);
		assert_int_equal(errors.more, mistakes > CONF_ERRORS_MAX);
		assert_string_equal(strchr(errors.list[18].text, '`'), "`wrong18`; there is listeners, subsystems, "
		    "state_dir, referrals, limits, timeouts, qos or order_log");
		arena_drop(&arena);
	}
}

/* ---- one more than there may be ---- */

struct many {
	const char *before;
	const char *item; /* with %u twice */
	unsigned max, groups;
	const char *group; /* begins each of `groups`, with %u */
	const char *words;
};

/* `groups` times the group with `count` items. */
static char *
many_text(const struct many *m, unsigned count)
{
	size_t size = 1000 + strlen(m->before) + m->groups * (100 + (size_t)count * 120), used;
	char *text = malloc(size);

	assert_non_null(text);
	used = (size_t)sprintf(text, "%s", m->before);
	for (unsigned g = 0; g < m->groups; g++) {
		used += (size_t)snprintf(text + used, size - used, m->group, g);
		for (unsigned i = 1; i <= count; i++)
			used += (size_t)snprintf(text + used, size - used, m->item, i, g * 2048 + i);
	}
	return text;
}

static void
as_many_as_there_may_be_are_taken_and_one_more_is_refused(void **state)
{
	static const struct many cases[] = {
		{ "listeners:\n", "  - { name: n%u, address: 192.0.2.%u }\n", CONF_LISTENERS_MAX, 1, "",
		    "`listeners` has 16 at most, not 17" },
		{ L "referrals:\n", "  - { address: 192.0.%u.%u }\n", CONF_REFERRALS_MAX, 1, "",
		    "`referrals` has 16 at most, not 17" },
		{ L "subsystems:\n", "  - { nqn: nqn.2026-11.%u, serial: %u }\n", CONF_SUBSYS_MAX, 1, "",
		    "`subsystems` has 64 at most, not 65" },
		{ S "    hosts:\n", "      - nqn.2026-11.%u.%u\n", CONF_HOSTS_MAX, 1, "",
		    "`hosts` has 1024 at most, not 1025" },
		{ S "    ana_groups:\n", "      - { id: %u } # %u\n", CONF_ANA_MAX, 1, "",
		    "`ana_groups` has 64 at most, not 65" },
		{ S "    namespaces:\n", "      - { nsid: %u, volume: 'file:/%u' }\n", CONF_NS_MAX, 1, "",
		    "`namespaces` has 1024 at most, not 1025" },
		{ L "subsystems:\n", "      - { nsid: %u, volume: 'file:/%u' }\n", CONF_NS_ALL_MAX / 16, 16,
		    "  - nqn: nqn.2026-11.%u\n    namespaces:\n",
		    "more than 4096 namespaces in the file, with those that hosts may make (`count`)" },
		{ L "subsystems:\n", "      - nqn.2026-11.%u.%u\n", CONF_HOSTS_ALL_MAX / 64, 64,
		    "  - nqn: nqn.2026-11.%u\n    hosts:\n",
		    "more than 16384 hosts in the file" },
		{ Q "  devices:\n", "    - { name: d%u, beta: %u }\n", CONF_DEVICES_MAX, 1, "",
		    "`devices` has 64 at most, not 65" },
		{ Q "  groups:\n", "    - { name: g%u, weight: %u }\n", CONF_GROUPS_MAX, 1, "",
		    "`groups` has 64 at most, not 65" },
		{ Q "  tenants:\n", "    - { host: nqn.2026-11.%u, weight: %u }\n", CONF_TENANTS_MAX, 1, "",
		    "`tenants` has 1024 at most, not 1025" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned more = 0; more <= 1; more++) {
			char *text = many_text(&cases[i], cases[i].max + more);
			struct conf_errors errors;
			struct arena arena;
			struct conf *conf;

			arena_init(&arena, 0);
			assert_int_equal(conf_parse(&arena, text, strlen(text), &conf, &errors), more ? -EINVAL : 0);
			if (more)
				assert_string_equal(errors.list[0].text, cases[i].words);
			arena_drop(&arena);
			free(text);
		}
}

/* ---- what is too large to look at ---- */

static void
expect_refused(const char *text, size_t bytes, const char *words)
{
	struct conf_errors errors;
	struct arena arena;
	struct conf *conf;

	arena_init(&arena, 0);
	assert_int_equal(conf_parse(&arena, text, bytes, &conf, &errors), -EINVAL);
	assert_string_equal(errors.list[0].text, words);
	arena_drop(&arena);
}

static void
a_text_without_bounds_is_refused(void **state)
{
	size_t bytes = (size_t)CONF_TEXT_MAX + 1;
	char *text = malloc(bytes), *at = text;

	(void)state;
	assert_non_null(text);
	memset(text, '#', bytes);
	expect_refused(text, bytes, "longer than 32 MiB");
	expect_refused(text, bytes - 1, "there is nothing in it");
	memset(text, '-', 1);
	for (unsigned i = 0; i < CONF_NODES_MAX; i++, at += 2)
		memcpy(at, "-\n", 2);
	expect_refused(text, (size_t)(at - text), "more than 524288 keys and values");
	expect_refused(text, (size_t)(at - text) - 2, "the file is keys with values, like `listeners: ...`");
	at = text;
	for (unsigned i = 0; i <= CONF_ANCHORS_MAX; i++)
		at += sprintf(at, "- &a%u b\n", i);
	expect_refused(text, (size_t)(at - text), "more than 256 anchors");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mistake_is_named_in_its_line),
		cmocka_unit_test(a_byte_of_zero_is_found_where_it_is),
		cmocka_unit_test(several_mistakes_are_told_in_the_order_of_lines),
		cmocka_unit_test(twenty_mistakes_are_told_and_that_there_are_more),
		cmocka_unit_test(as_many_as_there_may_be_are_taken_and_one_more_is_refused),
		cmocka_unit_test(a_text_without_bounds_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
