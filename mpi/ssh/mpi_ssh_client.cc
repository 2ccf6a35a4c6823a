#include "mpi/ssh/mpi_ssh_client.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "mpi/ssh/mpi_ssh_verb.h"
#include "mpi/ssh/ssh_account.h"

namespace muster::mpi {

namespace {

// A link of that name may lead to this binary, which stands in for ssh elsewhere.
Result<std::string> find_client(const Files& files, std::string_view path,
                                const std::string& muster) {
  for (const std::string_view folder : split(path, ':')) {
    auto found = find_program(files, "ssh", folder);
    if (found && follow_links(files, *found) != follow_links(files, muster)) return found;
  }
  return Error{Code::kExec, ENOENT,
               "no ssh in this image (Debian: openssh-client), which --mpi-transport ssh needs on "
               "every node, sshd on the launcher's; " +
                   std::string(kWithoutSsh)};
}

}  // namespace

Status place_ssh_client(const Files& files, std::string_view search_path, const std::string& muster,
                        const TemporaryFolder& folder) {
  auto client = find_client(files, search_path, muster);
  if (!client) return std::move(client).error();
  auto link = folder.link(std::string(kSshClientLink), *client);
  return link ? Status() : Status(std::move(link).error());
}

Status place_ssh_account(const TemporaryFolder& folder) {
  auto library = folder.put(std::string(kSshAccountLibrary), ssh_account_library());
  if (!library) return std::move(library).error();
  struct statvfs mount {};
  if (statvfs(library->c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
    return Error{Code::kConfig, 0,
                 "'" + folder_of(folder.path()) +
                     "' is mounted noexec, and ssh must load a library from there: set TMPDIR to "
                     "another folder; " +
                     std::string(kWithoutSsh)};
  }
  return {};
}

Result<std::string> find_ssh_keygen(const Files& files, std::string_view search_path) {
  auto found = find_program(files, "ssh-keygen", search_path);
  if (found) return found;
  return Error{Code::kExec, ENOENT,
               "no ssh-keygen in this image (Debian: openssh-client), which checks and makes the "
               "keys of SSH; " +
                   std::string(kWithoutSsh)};
}

}  // namespace muster::mpi
