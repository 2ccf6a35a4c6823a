/* A library that OpenSSH's programs are started with (LD_PRELOAD). In containers the uid often has no line in /etc/passwd, or
   one with /sbin/nologin, or a locked one; ssh and sshd then refuse to work, and an sshd of root wants a folder, a user and
   three capabilities of its own. To them, and to nobody else, the process is the user "muster" with /bin/sh, never root; the
   kernel goes on deciding what it may do. Needs no C library of its own, so that it fits whichever the image has: what is not
   defined here is found in the program. Tried: OpenSSH 9.2p1, 10.5p1. */
#include <pwd.h>
#include <stddef.h>
#include <sys/types.h>

extern char* getenv(const char* name);

/* MUSTER_SSH_ACCOUNT=UID:GID; nobody's without it. */
static void read_numbers(unsigned* uid, unsigned* gid) {
  const char* text = getenv("MUSTER_SSH_ACCOUNT");
  unsigned* number = uid;
  *uid = *gid = 0;
  for (; text != NULL && *text != '\0'; ++text) {
    if (*text == ':') {
      number = gid;
    } else if (*text >= '0' && *text <= '9') {
      *number = *number * 10 + (unsigned)(*text - '0');
    }
  }
  if (*uid == 0) *uid = *gid = 65534;
}

static struct passwd* account(void) {
  static struct passwd entry;
  read_numbers(&entry.pw_uid, &entry.pw_gid);
  entry.pw_name = (char*)"muster";
  entry.pw_passwd = (char*)"x";
  entry.pw_gecos = (char*)"";
  entry.pw_dir = (char*)"/";
  entry.pw_shell = (char*)"/bin/sh";
  return &entry;
}

struct passwd* getpwuid(uid_t uid) {
  (void)uid;
  return account();
}

struct passwd* getpwnam(const char* name) {
  const char* own = account()->pw_name;
  while (*name != '\0' && *name == *own) {
    ++name;
    ++own;
  }
  return *name == *own ? account() : NULL;
}

uid_t getuid(void) { return account()->pw_uid; }
uid_t geteuid(void) { return account()->pw_uid; }
