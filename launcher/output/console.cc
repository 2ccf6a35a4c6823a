#include "launcher/output/console.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster::launcher {

Console::Console(Loop& loop, int out_fd, int err_fd, bool may_reopen) {
  ConsoleFd out(out_fd, may_reopen);
  ConsoleFd err(err_fd, may_reopen);
  const bool shared = out.same_object(err);
  out_ = std::make_unique<Sink>(loop, std::move(out), shared ? "stdout and stderr" : "stdout");
  if (!shared) err_ = std::make_unique<Sink>(loop, std::move(err), "stderr");
}

bool Console::is_drained() const { return out_->is_drained() && (!err_ || err_->is_drained()); }

void Console::abandon() {
  out_->abandon();
  if (err_) err_->abandon();
}

std::vector<std::string> Console::problems() const {
  std::vector<std::string> problems;
  for (const Sink* sink : {out_.get(), err_.get()}) {
    if (sink == nullptr) continue;
    std::string problem = sink->problem();
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

void Console::log_problems() {
  const auto before = std::exchange(logged_, problems());
  for (const std::string& problem : logged_) {
    if (std::ranges::find(before, problem) == before.end())
      log::warning("console.lost", {{"problem", problem}});
  }
}

}  // namespace muster::launcher
