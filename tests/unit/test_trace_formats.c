/*
 * trace/msr, spc, fiu, ssdsim, vscsi, blkparse: lines that are right, and what they say; lines that are wrong, and why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace_bench.h"

/* A second line, which so is no heading, and what it is to be; `why`: it is bad; no `volume`: another command. */
struct line_case {
	const char *text, *why, *volume;
	uint64_t time_ns, offset;
	uint32_t bytes;
	bool is_write;
};

#define GOOD(text, volume, time_ns, offset, bytes, is_write) { text, NULL, volume, time_ns, offset, bytes, is_write }
#define OTHER(text) { text, NULL, NULL, 0, 0, 0, false }
#define BAD(text, why) { text, why, NULL, 0, 0, 0, false }
#define R false
#define W true

static void
request_is(const struct trace_outcome *outcome, const struct line_case *one)
{
	const struct trace_request *request = outcome->requests;

	if (outcome->count != 1)
		fail_msg("`%s` is no request: %s", one->text, outcome->seen.bads[0].why);
	assert_string_equal(outcome->names[0], one->volume);
	assert_int_equal(request->volume, 0);
	assert_int_equal(request->time_ns, one->time_ns);
	assert_int_equal(request->offset, one->offset);
	assert_int_equal(request->bytes, one->bytes);
	assert_int_equal(request->is_write, one->is_write);
}

static void
cases_hold(enum trace_format format, const struct line_case *cases, size_t count)
{
	char text[512];

	for (const struct line_case *one = cases; one < cases + count; one++) {
		struct trace_outcome *outcome;

		strcpy(stpcpy(text, "heading\n"), one->text);
		outcome = trace_bench_read(format, text, strlen(text), 0);
		assert_int_equal(outcome->seen.headings, 1);
		if (one->volume != NULL)
			request_is(outcome, one);
		else if (outcome->seen.other != (one->why == NULL) || outcome->seen.bad != (one->why != NULL))
			fail_msg("`%s`", one->text);
		if (one->why != NULL)
			assert_string_equal(outcome->seen.bads[0].why, one->why);
	}
}

#define HOLD(format, cases) cases_hold(format, cases, sizeof(cases) / sizeof(cases[0]))

static void
msr_lines(void **state)
{
	static const struct line_case cases[] = {
		GOOD("128166372003061629,usr,0,Read,7014609920,24576,41286", "usr.0", 12816637200306162900u,
		    7014609920, 24576, R),
		GOOD("0,hm,1,Write,0,1,0\r\n", "hm.1", 0, 0, 1, W),
		GOOD("184467440737095516, h , 1 , WRITE , 1 , 1073741824 , 0 ", "h.1", 18446744073709551600u,
		    1, 1 << 30, W),
		GOOD("1,h,1,Read,9223372036854775296,512,1", "h.1", 100, 9223372036854775296u, 512, R),
		BAD("184467440737095517,h,1,Read,0,512,0", "its time (a FILETIME) is beyond 2^64 ns"),
		BAD("18446744073709551616,h,1,Read,0,512,0", "its time (a FILETIME) is too large"),
		BAD("-1,h,1,Read,0,512,0", "its time (a FILETIME) is negative"),
		BAD("nan,h,1,Read,0,512,0", "its time (a FILETIME) is not a whole number"),
		BAD("1.5,h,1,Read,0,512,0", "its time (a FILETIME) is not a whole number"),
		BAD(",h,1,Read,0,512,0", "its time (a FILETIME) is missing"),
		BAD("1,,1,Read,0,512,0", "its host is missing"),
		BAD("1,h h,1,Read,0,512,0", "its host is not a word"),
		BAD("1,h,x,Read,0,512,0", "its disk is not a whole number"),
		BAD("1,h,1,Trim,0,512,0", "its type is not Read or Write"),
		BAD("1,h,1,Reader,0,512,0", "its type is not Read or Write"),
		BAD("1,h,1,Read,-512,512,0", "its offset is negative"),
		BAD("1,h,1,Read,9223372036854775297,512,0", "it ends beyond 2^63 bytes"),
		BAD("1,h,1,Read,99999999999999999999,512,0", "its offset is too large"),
		BAD("1,h,1,Read,0,0,0", "its size is 0"),
		BAD("1,h,1,Read,0,1073741825,0", "its size is more than 1 GiB"),
		BAD("1,h,1,Read,0,512", "its response time is missing"),
		BAD("1,h,1,Read,0,512,", "its response time is missing"),
		BAD("1,h,1,Read,0,512,0,", "something follows its last column"),
		BAD("1,h,1,Read,0,512,0,7", "something follows its last column"),
		BAD("1,h,1,Read,0,512,0 7", "its response time is not a whole number"),
		BAD("1", "its host is missing"),
	};

	(void)state;
	HOLD(TRACE_MSR, cases);
}

static void
spc_lines(void **state)
{
	static const struct line_case cases[] = {
		GOOD("0,20939840,8192,R,0.011413", "0", 11413000, 20939840 * 512ull, 8192, R),
		GOOD("1,0,3584,w,26.214", "1", 26214000000, 0, 3584, W),
		GOOD("1,0,1,W,7", "1", 7000000000, 0, 1, W),
		GOOD("1,1,512,r,18446744073.709551615999", "1", UINT64_MAX, 512, 512, R),
		GOOD("1,1,512,r,0.1234567899,more,and more\r\n", "1", 123456789, 512, 512, R),
		GOOD("000000000000000000000000000012,00000000000000000000000001,512,r,0.1,",
		    "000000000000000000000000000012", 100000000, 512, 512, R),
		BAD("1,1,512,r,18446744073.709551616", "its time is beyond 2^64 ns"),
		BAD("1,1,512,r,18446744074", "its time is beyond 2^64 ns"),
		BAD("1,1,512,r,99999999999999999999", "its time is beyond 2^64 ns"),
		BAD("1,1,512,r,-0.5", "its time is negative"),
		BAD("1,1,512,r,nan", "its time is not a number"),
		BAD("1,1,512,r,inf", "its time is not a number"),
		BAD("1,1,512,r,1e3", "its time is not a number"),
		BAD("1,1,512,r,1.", "its time is not a number"),
		BAD("1,1,512,r,.5", "its time is not a number"),
		BAD("1,1,512,r,1.5.2", "its time is not a number"),
		BAD("1,1,512,r", "its time is missing"),
		BAD("1,1,512,x,0.5", "its operation is not R or W"),
		BAD("1,1,512,rw,0.5", "its operation is not R or W"),
		BAD("x,1,512,r,0.5", "its ASU is not a whole number"),
		BAD("1,1,0,r,0.5", "its size is 0"),
		BAD("1,1,+8,r,0.5", "its size is not a whole number"),
		BAD("1,18014398509481984,512,r,0.5", "it ends beyond 2^63 bytes"),
		BAD("1,18446744073709551615,512,r,0.5", "it ends beyond 2^63 bytes"),
		BAD("1;1;512;r;0.5", "its ASU is not a whole number"),
	};

	(void)state;
	HOLD(TRACE_SPC, cases);
}

static void
fiu_lines(void **state)
{
#define MD5 " 0123456789abcdef0123456789ABCDEF"
	static const struct line_case cases[] = {
		GOOD("89967404326888 2781 nfsd 520255360 8 W 6 0" MD5, "6,0", 89967404326888,
		    520255360 * 512ull, 4096, W),
		GOOD("1.5 1 x 1 1 r 8 16", "8,16", 1500000000, 512, 512, R),
		GOOD("7 1 a b 3 4 R 9 9 1 2 W 8 0" MD5 " \r\n", "8,0", 7, 512, 1024, W),
		GOOD("7\t1\tsh\t1\t2\tW\t8\t0\t", "8,0", 7, 512, 1024, W),
		BAD("7 1 sh 1 2 W 8 0 0123456789abcdef0123456789abcdeg", "its number of blocks is not a whole number"),
		BAD("7 1 sh 1 2 W 8 0" MD5 " more", "its LBA is not a whole number"),
		BAD("7 1 1 2 W 8 0" MD5, "some of its columns are missing"),
		BAD("7 1 2 W 8 0" MD5, "some of its columns are missing"),
		BAD("7 1" MD5, "some of its columns are missing"),
		BAD("7 1", "some of its columns are missing"),
		BAD("7", "its process id is missing"),
		BAD("x 1 sh 1 2 W 8 0", "its time is not a number"),
		BAD("7 -1 sh 1 2 W 8 0", "its process id is negative"),
		BAD("7 1 sh 1 0 W 8 0", "its size is 0"),
		BAD("7 1 sh 1 2097153 W 8 0", "its size is more than 1 GiB"),
		BAD("7 1 sh 18014398509481983 2 W 8 0", "it ends beyond 2^63 bytes"),
		BAD("7 1 sh 1 2 D 8 0", "its operation is not W or R"),
		BAD("7 1 sh 1 2 W x 0", "its device's major number is not a whole number"),
		BAD("7 1 sh 1 2 W 8 x", "its device's minor number is not a whole number"),
	};

	(void)state;
	HOLD(TRACE_FIU, cases);
}

static void
ssdsim_lines(void **state)
{
	static const struct line_case cases[] = {
		GOOD("938513000 4 264719034 16 0", "4", 938513000, 264719034 * 512ull, 8192, W),
		GOOD("0\t0  0 2097152 1 \r\n", "0", 0, 0, 1 << 30, R),
		GOOD("18446744073709551615 0 0 1 1", "0", UINT64_MAX, 0, 512, R),
		BAD("18446744073709551616 0 0 1 1", "its time is too large"),
		BAD("1 0 0 1 2", "its operation is not 0 (a write) or 1 (a read)"),
		BAD("1 0 0 1 r", "its operation is not 0 (a write) or 1 (a read)"),
		BAD("1 0 0 1", "its operation is missing"),
		BAD("1 0 0 2097153 1", "its size is more than 1 GiB"),
		BAD("1 0 0 0 1", "its size is 0"),
		BAD("1 0 36028797018963968 1 1", "it ends beyond 2^63 bytes"),
		BAD("1 0 0 1 1 1", "something follows its last column"),
		BAD("1,0,0,1,1", "its time is not a whole number"),
		BAD("1 a 0 1 1", "its device is not a whole number"),
	};

	(void)state;
	HOLD(TRACE_SSDSIM, cases);
}

static void
vscsi_lines(void **state)
{
	static const struct line_case cases[] = {
		GOOD("1,5633898,2a,512,42932745", "0", 5633898000000000, 42932745 * 512ull, 512, W),
		GOOD("2,1.25,28,4096,8", "0", 1250000000, 4096, 4096, R),
		GOOD("1,1,8,512,0", "0", 1000000000, 0, 512, R), GOOD("1,1,88,512,0", "0", 1000000000, 0, 512, R),
		GOOD("1,1,A8,512,0", "0", 1000000000, 0, 512, R), GOOD("1,1,0a,512,0", "0", 1000000000, 0, 512, W),
		GOOD("1,1,8a,512,0", "0", 1000000000, 0, 512, W), GOOD("1,1,AA,512,0", "0", 1000000000, 0, 512, W),
		GOOD("1,1,2e,512,0", "0", 1000000000, 0, 512, W),
		OTHER("1,1,35,0,0"), OTHER("1,1,42,24,0"), OTHER("1,1,0,0,0"),
		BAD("1,1,35,0", "its LBA is missing"),
		BAD("1,1,35,0,0,0", "something follows its last column"),
		BAD("3,1,2a,512,0", "its version is not 1 or 2"),
		BAD("1,-1,2a,512,0", "its time is negative"),
		BAD("1,1,2g,512,0", "its operation is not one or two hexadecimal digits"),
		BAD("1,1,12a,512,0", "its operation is not one or two hexadecimal digits"),
		BAD("1,1,2a,0,0", "its size is 0"),
		BAD("1,1,2a,512,18014398509481984", "it ends beyond 2^63 bytes"),
		BAD("1,1,2a,512", "its LBA is missing"),
		BAD("1,1,2a,5x2,0", "its size is not a whole number"),
	};

	(void)state;
	HOLD(TRACE_VSCSI, cases);
}

static void
blkparse_lines(void **state)
{
	static const struct line_case cases[] = {
		GOOD("  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]", "8,0", 0, 223490 * 512,
		    4096, W),
		GOOD("259,12   0        2    10.000000001  4162  Q  RA 8 + 16 [a [b] c]\r\n",
		    "259,12", 10000000001, 4096, 8192, R),
		GOOD("8,0 0 2 1.5 4162 Q FWFSM 8 + 16 [x]", "8,0", 1500000000, 4096, 8192, W),
		GOOD("8,0 0 2 1.5 4162 Q R 8 + 16 []", "8,0", 1500000000, 4096, 8192, R),
		OTHER("8,0 0 2 1.5 4162 Q D 8 + 16 [x]"), OTHER("8,0 0 2 1.5 4162 Q DS 8 + 16 [x]"),
		OTHER("8,0 0 2 1.5 4162 Q FN [x]"), OTHER("8,0 0 2 1.5 4162 Q FWS [x]"),
		OTHER("8,0 0 2 1.5 4162 Q FFS [x]"), OTHER("8,0 0 2 1.5 4162 Q FS [x]"),
		OTHER("8,0 0 2 1.5 4162 Q N [x]"), OTHER("8,0 0 2 1.5 4162 Q WZS 8 + 16 [x]"),
		OTHER("8,0 0 2 1.5 4162 Q R 36 (12 00 00 00 24 00 ..) [x]"), OTHER("8,0 0 2 1.5 4162 Q R 0 [x]"),
		BAD("8,0 0 2 1.5 4162 Q X 8 + 16 [x]", "its kind (RWBS) is not one that blkparse writes"),
		BAD("8,0 0 2 1.5 4162 Q r 8 + 16 [x]", "its kind (RWBS) is not one that blkparse writes"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 16", "no process in brackets follows its sectors"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 16 x]", "no process in brackets follows its sectors"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 16 [x", "it does not end with a process in brackets"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 16 [x] more", "it does not end with a process in brackets"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 0 [x]", "its size is 0"),
		BAD("8,0 0 2 1.5 4162 Q W 8 + 2097153 [x]", "its size is more than 1 GiB"),
		BAD("8,0 0 2 1.5 4162 Q W 36028797018963968 + 8 [x]", "it ends beyond 2^63 bytes"),
		BAD("8,0 0 2 1.5 4162 Q W 8 16 [x]", "the + behind its sector is not there"),
		BAD("8,0 0 2 1.5 4162 Q W 8", "the + behind its sector is missing"),
		BAD("8,0 0 2 1.5 4162 Q W", "its sector is missing"),
		BAD("8,0 0 2 1.5 4162 Q D", "it does not end with a process in brackets"),
		BAD("8,0 0 2 1.5 4162 Q", "its kind (RWBS) is missing"),
		BAD("8,0 0 2 1.5 4162", "its action is missing"),
		BAD("8,0 0 2 1.5 4162 QQQ", "its action is not a letter or two"),
		BAD("8,0 0 2 -1.5 4162 Q W 8 + 16 [x]", "its time is negative"),
		BAD("8 0 2 1.5 4162 Q W 8 + 16 [x]", "its device is not MAJOR,MINOR"),
		BAD("8, 0 2 1.5 4162 Q W 8 + 16 [x]", "its device is not MAJOR,MINOR"),
		BAD("8,0,1 0 2 1.5 4162 Q W 8 + 16 [x]", "its device is not MAJOR,MINOR"),
		BAD("Lost 7 events", "its device is not MAJOR,MINOR"),
	};

	(void)state;
	HOLD(TRACE_BLKPARSE, cases);
}

static void
other_events_of_blkparse_and_its_summary_are_headings(void **state)
{
	static const char text[] =
	    "  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427\n"
	    "  8,0    3        2     0.000000100   697  Q   W 223490 + 8 [kjournald]\n"
	    "  8,0    3        3     0.000000200   697  G   W 223490 + 8 [kjournald]\n"
	    "  8,0    3        4     0.000000300   697  I   W 223490 + 8 (     100) [kjournald]\n"
	    "  8,0    3        0     0.000000300     0  m   N cfq697 insert_request\n"
	    "  8,0    3        5     0.000000400   697  U   N [kjournald] 1\n"
	    "  8,0    3        6     0.000000500     0 UT   N [swapper] 1\n"
	    "  8,0    3        7     0.000000900     0  C   W 223490 + 8 (     600) [0]\n"
	    "CPU0 (8,0):\n"
	    " Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB\n"
	    " PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB\n"
	    " IO unplugs:             1        \t Timer unplugs:           1\n"
	    "\n"
	    "Total (8,0):\n"
	    " Read depth:             0        \t Write depth:             1\n"
	    "\n"
	    "Throughput (R/W): 0KiB/s / 4KiB/s\n"
	    "Events (8,0): 8 entries\n"
	    "Skips: 0 forward (0 -   0.0%)\n"
	    "Input file sda.blktrace.0 added\n";
	struct trace_outcome *all = trace_bench_read(TRACE_BLKPARSE, text, sizeof(text) - 1, 0);

	(void)state;
	assert_int_equal(all->seen.bad, 0);
	assert_int_equal(all->count, 1);
	assert_int_equal(all->seen.headings, all->seen.lines - 1);
	assert_int_equal(all->requests[0].time_ns, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(msr_lines),
		cmocka_unit_test(spc_lines),
		cmocka_unit_test(fiu_lines),
		cmocka_unit_test(ssdsim_lines),
		cmocka_unit_test(vscsi_lines),
		cmocka_unit_test(blkparse_lines),
		cmocka_unit_test(other_events_of_blkparse_and_its_summary_are_headings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
