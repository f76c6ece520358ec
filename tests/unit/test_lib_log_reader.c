/* Reading the discovery log: a controller of memory, whose log changes while it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/log_reader.h"
#include "wire/log.h"

enum { ENTRIES = 5, PIECE = 2048 };

static struct {
	struct ctrlr_facts facts;
	uint8_t log[1024 + ENTRIES * 1024];
	struct ctrlr_cmd *cmd;          /* to be answered */
	unsigned commands, heads;
	unsigned changes;               /* so often it changes behind a head */
	bool lost;
} it;

/* The two that are asked of a controller. */
const struct ctrlr_facts *
ctrlr_facts(const struct ctrlr *ctrlr)
{
	(void)ctrlr;
	return &it.facts;
}

void
ctrlr_submit(struct ctrlr *ctrlr, struct ctrlr_cmd *cmd)
{
	(void)ctrlr;
	assert_null(it.cmd);
	it.cmd = cmd;
}

static struct {
	unsigned times;
	int error;
	char why[80];
} ended;

static void
done(struct log_reader *reader, int error, const char *why)
{
	(void)reader;
	ended.times++;
	ended.error = error;
	snprintf(ended.why, sizeof(ended.why), "%s", why != NULL ? why : "");
}

static void
fill(uint64_t generation, uint64_t entries)
{
	struct nvme_log_discovery *head = (void *)it.log;

	head->genctr = le64_of(generation);
	head->numrec = le64_of(entries);
	for (unsigned i = 0; i < ENTRIES; i++)
		memset(it.log + (i + 1) * 1024, (int)(generation * 16 + i), 1024);
}

/* Answers what is asked until nothing is. */
static void
answer_all(void)
{
	while (it.cmd != NULL) {
		struct ctrlr_cmd *cmd = it.cmd;
		struct hreq *req = &cmd->io.req;
		uint64_t at = le32_get(req->sqe.cdw12);
		struct nvme_log_discovery *head = (void *)it.log;

		assert_true(req->length <= PIECE && at + req->length <= sizeof(it.log));
		assert_int_equal((le32_get(req->sqe.cdw10) >> 16) + 1, req->length / 4);
		memcpy(req->iov->iov_base, it.log + at, req->length);
		req->status = NVME_OK;
		it.commands++;
		it.cmd = NULL;
		if (at == 0 && it.heads++ < it.changes)
			fill(le64_get(head->genctr) + 1, le64_get(head->numrec));
		cmd->io.lost = it.lost;
		cmd->done(cmd);
	}
}

static struct log_reader
read_it(unsigned changes)
{
	struct log_reader reader = { .done = done };

	it.changes = changes;
	it.heads = it.commands = 0;
	it.facts.transfer_max = PIECE;
	memset(&ended, 0, sizeof(ended));
	log_reader_start(&reader, NULL);
	answer_all();
	return reader;
}

static void
a_log_is_read_in_pieces_and_its_head_once_more(void **state)
{
	struct log_reader reader;

	(void)state;
	fill(7, ENTRIES);
	reader = read_it(0);
	assert_int_equal(ended.times, 1);
	assert_int_equal(ended.error, 0);
	assert_int_equal(it.commands, 1 + 3 + 1);
	assert_int_equal(reader.count, ENTRIES);
	assert_int_equal(reader.head.generation, 7);
	assert_memory_equal(reader.entries, it.log + 1024, ENTRIES * 1024);
	log_reader_end(&reader);
}

static void
one_that_changes_meanwhile_is_read_again(void **state)
{
	struct log_reader reader;

	(void)state;
	fill(7, ENTRIES);
	reader = read_it(3);
	assert_int_equal(ended.error, 0);
	assert_int_equal(reader.head.generation, 10);
	assert_memory_equal(reader.entries, it.log + 1024, ENTRIES * 1024);
	log_reader_end(&reader);
	reader = read_it(UINT32_MAX);
	assert_int_equal(ended.times, 1);
	assert_int_equal(ended.error, -EAGAIN);
	log_reader_end(&reader);
}

static void
an_empty_one_needs_no_more_than_its_head(void **state)
{
	struct log_reader reader;

	(void)state;
	fill(1, 0);
	reader = read_it(0);
	assert_int_equal(ended.error, 0);
	assert_int_equal(reader.count, 0);
	assert_int_equal(it.commands, 1);
	log_reader_end(&reader);
}

static void
what_cannot_be_is_refused(void **state)
{
	struct nvme_log_discovery *head = (void *)it.log;
	struct log_reader reader;

	(void)state;
	fill(1, LOG_READER_ENTRIES_MAX + 1);
	reader = read_it(0);
	assert_int_equal(ended.error, -EMSGSIZE);
	log_reader_end(&reader);
	fill(1, UINT64_MAX);
	reader = read_it(0);
	assert_int_equal(ended.error, -EMSGSIZE);
	log_reader_end(&reader);
	fill(1, 1);
	head->recfmt = le16_of(1);
	reader = read_it(0);
	assert_int_equal(ended.error, -EPROTO);
	head->recfmt = le16_of(0);
	log_reader_end(&reader);
}

static void
of_a_controller_that_is_lost_its_owner_hears_elsewhere(void **state)
{
	struct log_reader reader;

	(void)state;
	fill(1, ENTRIES);
	it.lost = true;
	reader = read_it(0);
	it.lost = false;
	assert_int_equal(ended.times, 0);
	log_reader_end(&reader);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_is_read_in_pieces_and_its_head_once_more),
		cmocka_unit_test(one_that_changes_meanwhile_is_read_again),
		cmocka_unit_test(an_empty_one_needs_no_more_than_its_head),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(of_a_controller_that_is_lost_its_owner_hears_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
