#include "narrow.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "wire/identify.h"
#include "wire/pdu.h"

enum { MDTS = 1, PDU_MAX = 2 * 1024 * 1024 };

struct link {
	struct narrow *narrow;
	int target, host;
};

/* False: it has ended. */
static bool
take(int fd, uint8_t *to, size_t bytes)
{
	return recv(fd, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static bool
give(int fd, const uint8_t *from, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, from, bytes, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		from += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* What a host that knows nothing yet is told first is Identify Controller, which has its subsystem's name. */
static void
look(struct narrow *narrow, uint8_t *pdu, uint32_t plen)
{
	struct nvme_identify_ctrl *id = (void *)(pdu + sizeof(struct pdu_data));

	if (pdu[0] != PDU_C2H_DATA)
		return;
	if (plen > sizeof(struct pdu_data) + NARROW_BYTES)
		atomic_fetch_add(&narrow->large, 1);
	if (plen == sizeof(struct pdu_data) + sizeof(*id) && memcmp(id->subnqn, "nqn.", 4) == 0)
		id->mdts = MDTS;
}

static void *
say(void *arg)
{
	struct link *link = arg;
	uint8_t *pdu = malloc(PDU_MAX);

	while (take(link->target, pdu, PDU_CH_LEN)) {
		uint32_t plen = get_le32(pdu + 4);

		if (plen > PDU_MAX || !take(link->target, pdu + PDU_CH_LEN, plen - PDU_CH_LEN))
			break;
		look(link->narrow, pdu, plen);
		if (!give(link->host, pdu, plen))
			break;
	}
	free(pdu);
	shutdown(link->host, SHUT_RDWR);
	return NULL;
}

static void *
serve(void *arg)
{
	struct link *link = arg;
	uint8_t bytes[16384];
	pthread_t other;
	ssize_t n;

	pthread_create(&other, NULL, say, link);
	while ((n = recv(link->host, bytes, sizeof(bytes), 0)) > 0 && give(link->target, bytes, (size_t)n))
		;
	shutdown(link->target, SHUT_RDWR);
	pthread_join(other, NULL);
	close(link->target);
	close(link->host);
	free(link);
	return NULL;
}

static struct sockaddr_in
local(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void *
listen_on(void *arg)
{
	struct narrow *narrow = arg;
	int host;

	while ((host = accept(narrow->listening, NULL, NULL)) >= 0) {
		struct sockaddr_in onward = local(narrow->onward);
		struct link *link = malloc(sizeof(*link));
		pthread_t thread;

		*link = (struct link){ narrow, socket(AF_INET, SOCK_STREAM, 0), host };
		if (connect(link->target, (void *)&onward, sizeof(onward)) != 0)
			shutdown(host, SHUT_RDWR);
		pthread_create(&thread, NULL, serve, link);
		pthread_detach(thread);
	}
	return NULL;
}

void
narrow_start(struct narrow *narrow, uint16_t onward)
{
	struct sockaddr_in address = local(0);
	socklen_t length = sizeof(address);

	narrow->onward = onward;
	atomic_init(&narrow->large, 0);
	narrow->listening = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(narrow->listening, (void *)&address, length), 0);
	assert_int_equal(listen(narrow->listening, 16), 0);
	assert_int_equal(getsockname(narrow->listening, (void *)&address, &length), 0);
	narrow->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&narrow->thread, NULL, listen_on, narrow), 0);
}

void
narrow_stop(struct narrow *narrow)
{
	shutdown(narrow->listening, SHUT_RDWR);
	pthread_join(narrow->thread, NULL);
	close(narrow->listening);
}
