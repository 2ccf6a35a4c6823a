#include "launcher/frameworks/mpi/launcher_files.h"

#include <utility>

#include "base/text.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/report/exit_codes.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kHostfileName = "hostfile";
constexpr std::string_view kHostListName = "hosts";

std::string in(const TemporaryFolder& folder, std::string_view name) {
  return folder.path() + "/" + std::string(name);
}

}  // namespace

Result<LauncherFiles> LauncherFiles::create(const std::string& folder, const std::string& muster,
                                            const std::vector<std::string>& launchers) {
  auto own = TemporaryFolder::create(folder + "/bin");
  if (!own) return std::move(own).error();
  std::vector<std::string> names = {"ssh", "rsh", std::string(kDiscoveryName)};
  names.insert(names.end(), launchers.begin(), launchers.end());
  for (const std::string& name : names) {
    auto link = own->link(name, muster);
    if (!link) return std::move(link).error();
  }
  return LauncherFiles(std::move(*own));
}

Status LauncherFiles::write(const std::vector<mpi::HostSlots>& hosts) const {
  std::string hostfile;
  std::string list;
  if (!hosts.empty()) {
    auto with_words = mpi::write_hostfile(mpi::Implementation::kOpenMpi, hosts);
    if (!with_words) return std::move(with_words).error();
    auto with_colons = mpi::write_hostfile(mpi::Implementation::kMpich, hosts);
    if (!with_colons) return std::move(with_colons).error();
    hostfile = std::move(*with_words);
    list = std::move(*with_colons);
  }
  if (auto put = folder_.put(std::string(kHostfileName), hostfile); !put)
    return std::move(put).error();
  if (auto put = folder_.put(std::string(kHostListName), list); !put) return std::move(put).error();
  return {};
}

std::vector<PlannedVariable> LauncherFiles::variables(const Environment& user) const {
  const std::string path(search_path(user));
  return {launcher_variable(kHostfileVariable, hostfile(), "the nodes, NAME slots=N line by line"),
          launcher_variable(kHostListVariable, host_list(), "the nodes, NAME:N line by line"),
          launcher_variable(kDiscoveryVariable, discovery(), "a program that prints the nodes"),
          launcher_variable("PATH", folder_.path() + (path.empty() ? "" : ":" + path),
                            "launchers and ssh of the job come first")};
}

std::string LauncherFiles::hostfile() const { return in(folder_, kHostfileName); }

std::string LauncherFiles::host_list() const { return in(folder_, kHostListName); }

std::string LauncherFiles::discovery() const { return in(folder_, kDiscoveryName); }

bool is_discovery_name(std::string_view called_as) {
  return base_name(called_as) == kDiscoveryName;
}

int run_discovery(const Environment& environment, const Files& files, std::FILE* output,
                  std::FILE* errors) {
  const auto path = environment.get(kHostListVariable);
  const auto list = path ? files.read(std::string(*path), mpi::kMaxHostfileBytes)
                         : Result<std::string>(Error{Code::kConfig, 0, "it is not set"});
  if (!list) {
    return complain(errors, kDiscoveryName,
                    std::string(kHostListVariable) + ": " + list.error().text, kExitConfig);
  }
  const bool written = std::fwrite(list->data(), 1, list->size(), output) == list->size();
  return written && std::fflush(output) == 0 ? kExitSuccess : kExitOs;
}

}  // namespace muster::launcher
