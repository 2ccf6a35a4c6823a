#include "base/process/guardian.h"
#include "base/process/process_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace muster {

namespace {
constexpr char kDismissed = 'd';
}  // namespace

Result<Guardian> Guardian::start(ProcessHost& host, const ProcessSetup& setup,
                                 const std::string& token, const std::string& folder) {
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  // Not our stdout: whoever reads that would wait for the guardian as well.
  auto nowhere = open_null_device(O_WRONLY);
  if (!nowhere) return std::move(nowhere).error();
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"muster", "guard", token, folder};
  request.stdin_fd = pipe->read_end.get();
  request.stdout_fd = nowhere->get();
  request.stderr_fd = nowhere->get();
  request.signal_mask = setup.original_mask;
  request.parent_death_signal = 0;
  auto pid = host.spawn(request);
  if (!pid) return std::move(pid).error().with_context("starting the guardian");
  return Guardian(*pid, std::move(pipe->write_end));
}

void Guardian::dismiss() {
  // A guardian that is gone needs no word: EPIPE is ignored on purpose.
  (void)!write(line_.get(), &kDismissed, 1);
  line_.reset();
}

int run_guardian(const std::string& token, const std::string& folder) {
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(STDIN_FILENO, &word, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1 && word == kDismissed) return 0;
  // Nobody is left to tell what could not be done.
  for (const std::string_view variable : {kAgentIdVariable, kLauncherIdVariable})
    (void)kill_marked(std::string(variable).append("=").append(token));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}

}  // namespace muster
