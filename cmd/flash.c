/*
 * flash.c - `weir flash`: what is asked about modelled drives is in a word behind it.
 */
#include "cmd.h"
#include "conf/tree.h"
#include "flash.h"
#include "subcommand.h"

static const struct subcommand commands[] = {
	{ "list", flash_list },
	{ "show", flash_show },
	{ "curve", flash_curve },
	{ "condition", flash_condition },
};

static const char doc[] = "Shows, measures and prepares modelled drives.\v"
    "  list       say which drives are built in\n"
    "  show       say what a drive is made of\n"
    "  curve      say what a drive gives: latency and throughput against depth\n"
    "  condition  fill a drive, write it all over, and keep its state in a file\n"
    "\n`weir flash COMMAND --help' says more.";

int
cmd_flash(int argc, char **argv)
{
	return subcommand_run("flash", doc, commands, COUNT_OF(commands), argc, argv);
}
