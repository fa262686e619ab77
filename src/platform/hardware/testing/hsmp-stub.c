/*
 * A library whose `ioctl` answers as /dev/hsmp does (asm/amd_hsmp.h), with sockets made of plain numbers. The test that loads it
 * loads the same file itself and tells the sockets how to behave through stub_set; both share one copy of the state below.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SOCKETS 8
#define REQUEST 0xC02CF800UL

struct message {
  uint32_t id;
  uint16_t args, answers;
  uint32_t values[8];
  uint16_t socket;
};
_Static_assert(sizeof(struct message) == 44, "the kernel's struct has 44 bytes");

/* Keys of one socket. Power in mW. */
static const char *const keys[] = {
    "limit",
    "ceiling",  /* 0 = not reported by the firmware */
    "lost",     /* errno of every message */
    "setcode",  /* errno of every attempt to set the limit */
    "ignore",   /* accepts a limit without effect */
    "settle",   /* the lowest limit that the firmware sets */
    "hang",     /* messages do not return while this is 1 */
    "writes",   /* attempts to set the limit */
};
#define KEYS (int)(sizeof keys / sizeof *keys)
static _Atomic long long sockets[MAX_SOCKETS][KEYS];
static _Atomic int count;

static int key_of(const char *key) {
  for (int k = 0; k < KEYS; k++)
    if (strcmp(keys[k], key) == 0) return k;
  fprintf(stderr, "the HSMP stub has no %s\n", key);
  abort();
}

/* Functions for the test. Socket -1 is the driver: its number of sockets. */
void stub_set(int i, const char *key, long long value) {
  if (i < 0) count = (int)value;
  else sockets[i][key_of(key)] = value;
}

long long stub_get(int i, const char *key) { return sockets[i][key_of(key)]; }

void stub_reset(int n) {
  memset((void *)sockets, 0, sizeof sockets);
  for (int i = 0; i < MAX_SOCKETS; i++) {
    stub_set(i, "limit", 400000);
    stub_set(i, "ceiling", 400000);
  }
  count = n;
}

static int fail(int code) {
  errno = code;
  return -1;
}

int ioctl(int fd, unsigned long request, void *argument) {
  struct message *m = argument;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return fail(EBADF);
  if (request != REQUEST) return fail(ENOTTY);
  /* The driver checks the message, then the permission, then the socket. */
  int takes = m->id == 5, gives = m->id == 6 || m->id == 7;
  if (!takes && !gives) return fail(ENOMSG);
  if (m->args != takes || m->answers != gives) return fail(EINVAL);
  if (takes && (flags & O_ACCMODE) == O_RDONLY) return fail(EPERM);
  if (m->socket >= count) return fail(ENODEV);
  int i = m->socket;
  while (stub_get(i, "hang")) usleep(1000);
  if (stub_get(i, "lost")) return fail((int)stub_get(i, "lost"));
  if (takes) {
    sockets[i][key_of("writes")]++;
    if (stub_get(i, "setcode")) return fail((int)stub_get(i, "setcode"));
    long long asked = m->values[0], least = stub_get(i, "settle");
    if (!stub_get(i, "ignore")) stub_set(i, "limit", asked < least ? least : asked);
    return 0;
  }
  m->values[0] = (uint32_t)stub_get(i, m->id == 6 ? "limit" : "ceiling");
  return 0;
}
