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

RunFolder::~RunFolder() {
  if (own_) remove_run_folder(files_, path_);
}

void remove_run_folder(Files& files, const std::string& path) {
  const auto names = files.list(path);
  if (!names) return;
  for (const std::string& name : *names) (void)files.remove_file(path + "/" + name);
  (void)files.remove_folder(path);
}

}  // namespace muster::launcher
