#include "mpi/ssh/tend_verb.h"

#include "base/exit_code.h"
#include "base/files.h"
#include "mpi/ssh/launch_tender.h"
#include "mpi/ssh/mpi_ssh_verb.h"

namespace muster::mpi {

namespace {

SpawnRequest launcher_of(const std::vector<std::string>& words, const Environment& environment,
                         const ProcessSetup& setup) {
  SpawnRequest request;
  request.program = words[0];
  request.arguments = {words.begin() + 1, words.end()};
  request.environment = environment.to_exec_strings();
  request.signal_mask = setup.original_mask;
  request.ignore_sigpipe = setup.was_ignored(SIGPIPE);
  request.fd_limit = setup.original_fd_limit;
  // In this process's group: the agent suspends and continues a worker with its group, because
  // SIGSTOP cannot be passed on.
  request.new_session = false;
  return request;
}

Result<int> tend(const SpawnRequest& launcher, const std::string& folder,
                 const ProcessSetup& setup) {
  RealFiles files;
  const std::string reason = folder + "/" + std::string(kTendReasonFile);
  (void)files.remove_file(reason);  // of an earlier attempt; usually there is none
  const SystemClock clock;
  auto loop = Loop::create(clock);
  if (!loop) return std::move(loop).error();
  auto reports = listen_for_ssh_reports(folder);
  if (!reports) return std::move(reports).error();
  RealProcessHost processes;
  int exit_code = kExitInternal;
  Status written;
  LaunchTender tender(**loop, processes, std::move(*reports),
                      [&](int code, const std::string& why) {
                        exit_code = code;
                        if (!why.empty()) written = files.write(reason, why);
                        (*loop)->stop();
                      });
  const int signal_fd = setup.signal_fd.get();
  auto watch = (*loop)->watch(signal_fd, Interest::kRead, [&tender, signal_fd](Ready) {
    for (;;) {
      const auto signal = read_signal(signal_fd);
      if (!signal || !*signal) return;
      tender.handle_signal(**signal);
    }
  });
  if (!watch) return std::move(watch).error();
  MUSTER_RETURN_IF_ERROR(tender.start(launcher));
  MUSTER_RETURN_IF_ERROR((*loop)->run());
  if (!written) return std::move(written).error();
  return exit_code;
}

}  // namespace

int run_tend_verb(const std::vector<std::string>& words, const Environment& environment,
                  const ProcessSetup& setup, std::FILE* errors) {
  const auto folder = environment.get(kSshFolderVariable);
  if (words.size() < 2 || !folder || folder->empty())
    return complain(errors, "muster", "the verb tend is for muster's own use", kExitUsage);
  const auto exit_code = tend(launcher_of(words, environment, setup), std::string(*folder), setup);
  if (exit_code) return *exit_code;
  return complain(errors, "muster", exit_code.error().text,
                  start_failure_code(exit_code.error().os_errno));
}

}  // namespace muster::mpi
