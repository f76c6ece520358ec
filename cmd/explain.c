/*
 * explain.c - what memory `weir serve` takes, in words.
 */
#include <stdio.h>

#include "serve.h"

void
explain_memory(unsigned reactors, uint32_t volumes, uint32_t connections)
{
	const double kib = 1024.0, mib = kib * kib;
	const unsigned entries = TARGET_QUEUE_ENTRIES;
	size_t connection = target_connection_bytes() + rt_stream_bytes(), slot = target_queue_bytes(1);
	size_t subsys = target_subsys_bytes(), readers = target_readers_bytes();
	size_t volume = blk_bytes(reactors) + target_volume_bytes() + rt_annex_bytes();
	size_t controller = target_controller_bytes();
	size_t reactor = REACTOR_SCRATCH + SERVE_SMALL_BUFS * BUFS_SMALL + SERVE_LARGE_BUFS * BUFS_LARGE +
	    target_reactor_bytes() + rt_files_bytes() + rt_mail_bytes(reactors);

	printf("Memory is reserved at start and taken from the machine when it is first used.\n\n"
	    "per reactor (%u):\n"
	    "  receive buffer            %8d KiB\n"
	    "  small data buffers        %8d KiB   %d x %d KiB\n"
	    "  large data buffers        %8d KiB   %d x %d KiB\n"
	    "  answers being sent        %8zu KiB   with the memory that long ones of admin queues share\n"
	    "  files                     %8zu KiB\n"
	    "  mail to the others        %8zu KiB   %zu KiB for each, itself included\n"
	    "per controller:             %8.1f KiB   with 8 KiB for the data of an admin command\n"
	    "per connection:             %8.1f KiB   with an 8 KiB reserve for one capsule\n"
	    "per queue:                  %8.1f KiB   of 128 entries, %zu bytes each, as they are used\n"
	    "per subsystem:              %8zu KiB   for its events; for hosts that read them %zu KiB in all, at most\n"
	    "per volume:                 %8zu KiB   at most; of a RAM volume also its size, as it is written;\n"
	    "                                         it may grow, and has address space for that, which takes none;\n"
	    "                                         filters (fault:, volatile:) are not counted\n\n"
	    "at most: %u reactors x %.1f MiB + controllers x %.1f KiB + connections x %.1f KiB\n"
	    "    + queue entries x %zu bytes + subsystems x %zu KiB + %zu KiB + %u volumes x %zu KiB + RAM volumes\n"
	    "with all %u connections that may be, each with a controller and %u entries filled once: %.1f GiB\n"
	    "not counted: the program, and what the kernel holds for sockets and for io_uring\n",
	    reactors, REACTOR_SCRATCH / 1024, SERVE_SMALL_BUFS * BUFS_SMALL / 1024, SERVE_SMALL_BUFS, BUFS_SMALL / 1024,
	    SERVE_LARGE_BUFS * BUFS_LARGE / 1024, SERVE_LARGE_BUFS, BUFS_LARGE / 1024, target_reactor_bytes() / 1024,
	    rt_files_bytes() / 1024, rt_mail_bytes(reactors) / 1024, (rt_mail_bytes(1) - rt_mail_bytes(0)) / 1024,
	    (double)controller / kib, (double)connection / kib, (double)target_queue_bytes(128) / kib, slot,
	    subsys / 1024, readers / 1024, volume / 1024, reactors, (double)reactor / mib, (double)controller / kib,
	    (double)connection / kib, slot, subsys / 1024, readers / 1024, volumes, volume / 1024,
	    connections, entries, (double)connections * (double)(connection + controller + entries * slot) / kib / mib);
}
