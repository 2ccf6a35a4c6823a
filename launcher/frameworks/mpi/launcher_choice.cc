#include "launcher/frameworks/mpi/launcher_choice.h"

#include <fmt/core.h>

#include <vector>

#include "base/text.h"
#include "mpi/launch/program_libraries.h"

namespace muster::launcher {

using mpi::Implementation;

Result<FoundLauncher> choose_launcher(const Files& files, std::string_view search_path,
                                      std::optional<Implementation> wanted,
                                      const std::string& program) {
  std::vector<Implementation> candidates;
  if (wanted) candidates = {*wanted};
  const auto path = find_program(files, program, search_path);
  const auto built = path ? mpi::built_for(files, *path) : std::nullopt;
  if (!built) return find_launcher(files, search_path, candidates);
  if (wanted && !mpi::runs_under(*built, *wanted))
    return Error{
        Code::kConfig, 0,
        fmt::format("'{}' was built for {}, and --mpi says {}: each rank would be a job of "
                    "its own",
                    program, mpi::to_string(*built), mpi::to_string(*wanted))};
  for (const Implementation each : mpi::kAllImplementations) {
    if (!wanted && mpi::runs_under(*built, each)) candidates.push_back(each);
  }
  auto found = find_launcher(files, search_path, candidates);
  if (found) return found;
  return std::move(found).error().with_context(
      fmt::format("'{}' was built for {}", program, mpi::to_string(*built)));
}

Status check_rank_program(const Files& files, const FrameworkOptions& framework,
                          const std::string& program) {
  if (!framework.starts_ranks()) return {};
  if (is_launcher_name(program))
    return Error{Code::kConfig, 0,
                 fmt::format("'{}' starts ranks by itself, once on each node; with --mpi-launch {} "
                             "the command is what each rank runs",
                             program, framework.uses_pmi() ? "pmi" : "pmix")};
  const bool pmi = framework.uses_pmi();
  const auto built = mpi::built_for(files, program);
  if (!built || mpi::runs_under(*built, pmi ? Implementation::kMpich : Implementation::kOpenMpi))
    return {};
  return Error{Code::kConfig, 0,
               fmt::format("'{}' was built for {}, which needs --mpi-launch {}: each rank would be "
                           "a job of its own",
                           program, mpi::to_string(*built), pmi ? "pmix" : "pmi")};
}

}  // namespace muster::launcher
