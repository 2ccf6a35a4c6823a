#include "base/process/memory_reading.h"

#include <sys/uio.h>
#include <unistd.h>

namespace muster {

bool can_read_memory() {
  const char source = 'm';
  char target = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it is only read
  iovec remote{const_cast<char*>(&source), 1};
  iovec local{&target, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

}  // namespace muster
