#include "base/process/guardian.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/exit_code.h"
#include "base/process/process_marks.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr char kDismissed = 'd';

// TOKEN\0FOLDER\0, folders that are removed if they are empty, and kDismissed in the end.
std::string read_line_of_agent() {
  std::string words;
  char chunk[512];
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return words;
    words.append(chunk, static_cast<size_t>(got));
  }
}

}  // namespace

Result<Guardian> Guardian::start(ProcessHost& host, const ProcessSetup& setup,
                                 const std::string& token, const std::string& folder) {
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  // Not our stdout: whoever reads that would wait for the guardian as well.
  auto nowhere = open_null_device(O_WRONLY);
  if (!nowhere) return std::move(nowhere).error();
  // Before it starts: it knows them even if this process is killed while it does. The pipe is empty
  // and has room for them.
  std::string words = token;
  words.append(1, '\0').append(folder).append(1, '\0');
  if (write(pipe->write_end.get(), words.data(), words.size()) < 0)
    return os_error("telling the guardian");
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"muster", "guard", "-"};
  request.stdin_fd = pipe->read_end.get();
  request.stdout_fd = nowhere->get();
  request.stderr_fd = nowhere->get();
  request.signal_mask = setup.original_mask;
  request.parent_death_signal = 0;
  auto pid = host.spawn(request);
  if (!pid) return std::move(pid).error().with_context("starting the guardian");
  return Guardian(*pid, std::move(pipe->write_end));
}

void Guardian::also_remove(const std::string& folder) {
  const std::string word = folder + '\0';
  (void)!write(line_.get(), word.data(), word.size());  // it reads all the time
}

void Guardian::dismiss() {
  // A guardian that is gone needs no word: EPIPE is ignored on purpose.
  (void)!write(line_.get(), &kDismissed, 1);
  line_.reset();
}

int run_guardian() {
  const std::string line = read_line_of_agent();
  const auto words = split(line, '\0');
  // Called by somebody else, or the agent died in the middle of a word; it had just begun then.
  if (words.size() < 3 || words[0].empty() || words[1].empty()) return kExitUsage;
  if (words.back() == std::string_view(&kDismissed, 1)) return 0;
  // Nobody is left to tell what could not be done.
  for (const std::string_view variable : {kAgentIdVariable, kLauncherIdVariable})
    (void)kill_marked(std::string(variable).append("=").append(words[0]));
  std::error_code ignored;
  std::filesystem::remove_all(words[1], ignored);
  for (size_t i = 2; i + 1 < words.size(); ++i) (void)rmdir(std::string(words[i]).c_str());
  return 0;
}

}  // namespace muster
