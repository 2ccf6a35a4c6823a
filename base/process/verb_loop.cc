#include "base/process/verb_loop.h"

#include <utility>

namespace muster {

Status run_with_signals(Loop& loop, int signal_fd, const OnSignal& on_signal) {
  auto watch = loop.watch(signal_fd, Interest::kRead, [signal_fd, &on_signal](Ready) {
    for (;;) {
      const auto signal = read_signal(signal_fd);
      if (!signal || !*signal) return;
      on_signal(**signal);
    }
  });
  if (!watch) return std::move(watch).error();
  return loop.run();
}

Result<std::unique_ptr<VerbLoop>> VerbLoop::create() {
  std::unique_ptr<VerbLoop> made(new VerbLoop());
  auto loop = Loop::create(made->clock_);
  if (!loop) return std::move(loop).error();
  made->loop_ = std::move(*loop);
  return made;
}

}  // namespace muster
