#include "trace/format.h"

#include <string.h>

const char *const trace_format_names[TRACE_FORMATS] = {
	[TRACE_MSR] = "msr",       [TRACE_SPC] = "spc",     [TRACE_FIU] = "fiu",
	[TRACE_SSDSIM] = "ssdsim", [TRACE_VSCSI] = "vscsi", [TRACE_BLKPARSE] = "blkparse",
};

static const struct {
	enum line_kind (*read)(struct line *line, struct line_said *said);
	char separator;
} formats[TRACE_FORMATS] = {
	[TRACE_MSR] = { msr_line, ',' },
	[TRACE_SPC] = { spc_line, ',' },
	[TRACE_FIU] = { fiu_line, ' ' },
	[TRACE_SSDSIM] = { ssdsim_line, ' ' },
	[TRACE_VSCSI] = { vscsi_line, ',' },
	[TRACE_BLKPARSE] = { blkparse_line, ' ' },
};

enum line_kind
format_line(enum trace_format format, const char *at, const char *end, struct line *line, struct line_said *said,
    bool *text)
{
	*text = true;
	if (end - at > TRACE_LINE)
		return line_wrong(line, "it is longer than 4096 bytes");
	if (memchr(at, '\0', (size_t)(end - at)) != NULL)
		return line_wrong(line, "there is a NUL byte in it");
	if (end > at && end[-1] == '\r')
		end--;
	while (*at == ' ' || *at == '\t')
		at++;
	*text = at < end && *at != '#';
	if (!*text)
		return LINE_APART;
	line->at = at;
	line->end = end;
	line->separator = formats[format].separator;
	return formats[format].read(line, said);
}

const char *
format_begin(const char *at, const char *end)
{
	return end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0 ? at + 3 : at;
}

bool
format_heads(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return *at == '"' || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
}
