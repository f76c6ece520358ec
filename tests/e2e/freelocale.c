/*
 * freelocale.c - preloaded: locales are not freed.
 *
 * A stranger with a sanitizer in it waits for ever in freelocale(), which p11-kit calls when the process ends, once
 * strerror() was called; the lock that it waits for is the C library's.
 */
#include <locale.h>

void
freelocale(locale_t locale)
{
}
