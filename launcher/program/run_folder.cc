#include "launcher/program/run_folder.h"

#include <utility>

namespace muster::launcher {

Result<std::unique_ptr<RunFolder>> RunFolder::choose(const Options& options, Files& files,
                                                     const std::string& temporary) {
  std::string path = options.run_dir;
  const bool own = path.empty() && !options.report.targets.empty();
  if (own) {
    auto made = files.make_private_folder(temporary + "/muster-run-");
    if (!made)
      return std::move(made).error().with_context("a folder for the journal (or give --run-dir)");
    path = *std::move(made);
  }
  return std::unique_ptr<RunFolder>(new RunFolder(files, std::move(path), own));
}

// What cannot be removed is left to whoever cleans the folder of temporary files.
void RunFolder::remove() {
  if (!own_) return;
  const auto names = files_.list(path_);
  if (!names) return;
  for (const std::string& name : *names) (void)files_.remove_file(path_ + "/" + name);
  (void)files_.remove_folder(path_);
}

}  // namespace muster::launcher
