/*
 * lib/identify: what a page says is what comes out, of our own controller and of others.
 */
#include <weir/identify.h>

#include "ctrl_bench.h"
#include "wire/extension.h"

/* ---- our own controller ---- */

static void
our_controller_is_told(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct weir_controller c;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	weir_controller_decode(b->out, 0, &c);
	assert_string_equal(c.serial, nvm.serial);
	assert_string_equal(c.model, nvm.model);
	assert_string_equal(c.firmware, nvm.firmware);
	assert_string_equal(c.subnqn, nvm.nqn);
	assert_int_equal(c.cntlid, 5);
	assert_int_equal(c.version, 0x20000);
	assert_int_equal(c.type, 1);
	assert_true(c.multi_controller && !c.ana);
	assert_int_equal(c.transfer_max, 4096 << nvm.mdts_shift);
	assert_int_equal(c.ioccsz, 64 + nvm.incapsule_max);
	assert_int_equal(c.iorcsz, 16);
	assert_int_equal(c.icdoff, 0);
	assert_true(c.kas_ms > 0 && c.kas_ms % 100 == 0);
	assert_true(c.aborts > 0 && c.events > 0 && c.namespaces >= 3);
	assert_int_equal(c.oncs & NVME_ONCS_COPY, NVME_ONCS_COPY);
	assert_int_equal(c.weir_version, WEIR_EXTENSION_VERSION);
	assert_int_equal(c.weir_capabilities, WEIR_CREDITS | WEIR_FENCE | WEIR_VIEW);
	weir_controller_decode(b->out, 0x10300, &c);
	assert_int_equal(c.version, 0x10300);
	test_free(b);
}

static void
our_namespaces_are_told(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct weir_namespace ns;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(identify(b, NVME_CNS_NS, namespaces[i].nsid), NVME_SC_SUCCESS);
		weir_namespace_decode(b->out, namespaces[i].nsid, &ns);
		assert_int_equal(ns.nsid, namespaces[i].nsid);
		assert_int_equal(ns.blocks, namespaces[i].blocks);
		assert_int_equal(ns.block_size, namespaces[i].block_size);
		assert_int_equal(ns.metadata, 0);
		assert_true(ns.shared && !ns.thin && !ns.protected_now);
		assert_int_equal(ns.dlfeat & 7, namespaces[i].trim_zeroes ? 1 : 0);
		assert_int_equal(ns.cache_life, namespaces[i].cache_life);
		assert_memory_equal(ns.nguid, namespaces[i].nguid, 16);
		assert_true(all_zero(ns.uuid, 16));
		assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, namespaces[i].nsid), NVME_SC_SUCCESS);
		weir_namespace_descriptors(b->out, &ns);
		assert_memory_equal(ns.uuid, namespaces[i].uuid, 16);
	}
	test_free(b);
}

/* ---- those of others ---- */

static void
what_a_page_cannot_mean_is_the_most_there_is(void **state)
{
	struct weir_controller c;
	uint8_t page[4097];

	memset(page, 0xff, sizeof(page));
	weir_controller_decode(page + 1, 0, &c); /* at any address */
	assert_int_equal(c.transfer_max, UINT64_MAX);
	assert_int_equal(c.ioccsz, UINT32_MAX);
	assert_int_equal(c.icdoff, 0xffff * 16);
	assert_int_equal(c.aborts, 255);
	assert_int_equal(c.log_entries_max, 255);
	assert_int_equal(c.awun, 0x10000);
	assert_int_equal(c.capacity, UINT64_MAX);
	assert_string_equal(c.serial, "????????????????????");
	assert_int_equal(c.weir_version, 0);
	memset(page, 0, sizeof(page));
	weir_controller_decode(page, 0, &c);
	assert_int_equal(c.transfer_max, 0);
	assert_int_equal(c.aborts, 1);
	assert_string_equal(c.serial, "");
	assert_string_equal(c.subnqn, "");
}

static void
numbers_of_a_controller_are_in_units_one_can_use(void **state)
{
	struct nvme_identify_ctrl id = {
		.mdts = 5, .cmic = NVME_CMIC_ANA | NVME_CMIC_MULTI_PORT, .ver = le32_of(0x10400), .acl = 3, .aerl = 7,
		.elpe = 63, .tnvmcap = { le64_of(1000), le64_of(0) }, .unvmcap = { le64_of(1), le64_of(1) },
		.kas = le16_of(10), .anatt = 30, .anagrpmax = le32_of(16), .nanagrpid = le32_of(4), .awun = le16_of(7),
		.awupf = le16_of(0), .ieee = { 1, 2, 3 }, .fr = "1.0     ",
		.mn = "two words\x1b[2J", .sn = "f\xc3\xbcnf\xff ",
	};
	struct weir_controller c;

	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.transfer_max, 128 * 1024);
	id.mdts = 51;
	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.transfer_max, UINT64_C(1) << 63);
	id.mdts = 52;
	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.transfer_max, UINT64_MAX);
	assert_true(c.ana && c.multi_port && !c.multi_controller);
	assert_int_equal(c.version, 0x10400);
	assert_int_equal(c.aborts, 4);
	assert_int_equal(c.events, 8);
	assert_int_equal(c.log_entries_max, 64);
	assert_int_equal(c.capacity, 1000);
	assert_int_equal(c.unallocated, UINT64_MAX);
	assert_int_equal(c.kas_ms, 1000);
	assert_int_equal(c.anatt_s, 30);
	assert_int_equal(c.awun, 8);
	assert_int_equal(c.awupf, 1);
	assert_int_equal(c.ieee[2], 3);
	assert_string_equal(c.firmware, "1.0");
	assert_string_equal(c.model, "two words?[2J");
	assert_string_equal(c.serial, "f\xc3\xbcnf?");
}

static void
the_extension_is_told_where_it_is_all_there(void **state)
{
	struct weir_identify weir = {
		.magic = WEIR_MAGIC, .version = le16_of(2), .length = le16_of(12), .capabilities = le32_of(0x1f),
	};
	struct nvme_identify_ctrl id = { .vid = le16_of(1) };
	struct weir_controller c;

	memcpy(id.vendor, &weir, sizeof(weir));
	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.weir_version, 2);
	assert_int_equal(c.weir_capabilities, 0x1f);
	((struct weir_identify *)(void *)id.vendor)->length = le16_of(11);
	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.weir_version, 0);
	((struct weir_identify *)(void *)id.vendor)->length = le16_of(64);
	id.vendor[0] = 'w';
	weir_controller_decode(&id, 0, &c);
	assert_int_equal(c.weir_version, 0);
	assert_int_equal(c.weir_capabilities, 0);
}

static void
the_format_is_one_of_those_there_are(void **state)
{
	struct nvme_identify_ns id = {
		.nlbaf = 16, .flbas = 1 << 5, .lbaf[0] = { .lbads = 9 }, .lbaf[1] = { .lbads = 8 },
		.lbaf[2] = { .lbads = 32 }, .lbaf[16] = { .lbads = 12, .ms = le16_of(8), .rp = 0xfd },
	};
	struct weir_namespace ns;

	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.formats, 17);
	assert_int_equal(ns.format, 16);
	assert_int_equal(ns.block_size, 4096);
	assert_int_equal(ns.metadata, 8);
	assert_int_equal(ns.lba_format[16].performance, 1);
	assert_int_equal(ns.lba_format[0].block_size, 512);
	assert_int_equal(ns.lba_format[1].block_size, 0);
	assert_int_equal(ns.lba_format[2].block_size, 0);
	id.nlbaf = 15; /* of up to 16 the upper bits say nothing */
	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.format, 0);
	assert_int_equal(ns.block_size, 512);
	id.flbas = 3;
	id.nlbaf = 2;
	id.lbaf[3].lbads = 9;
	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.block_size, 0);
	id.nlbaf = 0xff;
	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.formats, 64);
}

static void
sizes_mean_something_where_the_namespace_says_so(void **state)
{
	struct nvme_identify_ns id = {
		.nawun = le16_of(7), .nawupf = le16_of(3), .nacwu = le16_of(1), .npwg = le16_of(15), .npwa = le16_of(0),
		.npdg = le16_of(0xffff), .npda = le16_of(1), .noiob = le16_of(256), .mssrl = le16_of(128),
		.mcl = le32_of(1024), .msrc = 255, .nsattr = NVME_NSATTR_PROTECTED,
	};
	struct weir_namespace ns;

	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.atomic_blocks | ns.compare_write_blocks | ns.write_granularity | ns.write_alignment, 0);
	assert_int_equal(ns.deallocate_granularity | ns.deallocate_alignment, 0);
	assert_int_equal(ns.optimal_blocks, 256);
	assert_int_equal(ns.copy_max, 128);
	assert_int_equal(ns.copy_total, 1024);
	assert_int_equal(ns.copy_ranges, 256);
	assert_true(ns.protected_now);
	id.nsfeat = NVME_NSFEAT_ATOMICS | NVME_NSFEAT_OPTIMAL | NVME_NSFEAT_THIN;
	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.atomic_blocks, 4);
	assert_int_equal(ns.compare_write_blocks, 2);
	assert_int_equal(ns.write_granularity, 16);
	assert_int_equal(ns.write_alignment, 1);
	assert_int_equal(ns.deallocate_granularity, 0x10000);
	assert_int_equal(ns.deallocate_alignment, 2);
	assert_true(ns.thin);
	id.nawun = le16_of(0); /* the controller's */
	weir_namespace_decode(&id, 1, &ns);
	assert_int_equal(ns.atomic_blocks, 0);
}

static void
descriptors_add_what_is_not_known(void **state)
{
	static const uint8_t list[] = {
		NVME_NIDT_EUI64, 8, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 99, 3, 0, 0, 7, 7, 7,
		NVME_NIDT_NGUID, 16, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
		NVME_NIDT_UUID, 16, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
		NVME_NIDT_UUID, 8, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, /* of another length: none */
	};
	struct weir_namespace ns = { .nguid = { 5 } };
	uint8_t *page = test_calloc(1, 4096);

	memcpy(page, list, sizeof(list));
	weir_namespace_descriptors(page, &ns);
	assert_int_equal(ns.eui64[7], 1);
	assert_int_equal(ns.nguid[0], 5);
	assert_int_equal(ns.nguid[15], 0);
	assert_int_equal(ns.uuid[0], 3);
	assert_int_equal(ns.uuid[15], 3);
	memset(page, 200, 4096); /* the last one would go on behind the page, which is no more than its 4096 bytes */
	weir_namespace_descriptors(page, &ns);
	assert_int_equal(ns.uuid[15], 3);
	test_free(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_controller_is_told),
		cmocka_unit_test(our_namespaces_are_told),
		cmocka_unit_test(what_a_page_cannot_mean_is_the_most_there_is),
		cmocka_unit_test(numbers_of_a_controller_are_in_units_one_can_use),
		cmocka_unit_test(the_extension_is_told_where_it_is_all_there),
		cmocka_unit_test(the_format_is_one_of_those_there_are),
		cmocka_unit_test(sizes_mean_something_where_the_namespace_says_so),
		cmocka_unit_test(descriptors_add_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
