#include "launcher/frameworks/mpi/rank_services.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "base/log.h"
#include "launcher/frameworks/mpi/launcher_choice.h"
#include "mpi/pmi/pmi_ranks.h"
#include "mpi/ranks/rank_segments.h"
#ifdef MUSTER_PMIX
#include "mpi/pmi/pmix_ranks.h"
#endif

namespace muster::launcher {

namespace {

#ifdef MUSTER_PMIX

std::unique_ptr<mpi::RankServer> make_pmix(const AgentDoors& doors, const AgentContext& context,
                                           const mpi::RankServerHooks& hooks) {
  return std::make_unique<mpi::PmixRanks>(
      mpi::PmixDoors{.loop = doors.loop,
                     .processes = doors.processes,
                     .files = doors.files,
                     .environment = context.environment,
                     .setup = context.setup,
                     .token = context.token,
                     .folder = context.folder,
                     .start_deadline = context.options.framework.mpi_start_timeout},
      hooks);
}

Status check_pmix(const Files& files) {
  if (auto server = mpi::find_pmix_server(files); !server) return std::move(server).error();
  return {};
}

#else

// check_pmix() has ended the job before.
std::unique_ptr<mpi::RankServer> make_pmix(const AgentDoors& /*doors*/,
                                           const AgentContext& /*context*/,
                                           const mpi::RankServerHooks& /*hooks*/) {
  return nullptr;
}

Status check_pmix(const Files& /*files*/) {
  return Error{Code::kConfig, 0,
               "--mpi-launch pmix: this muster was built without PMIx (CMake option MUSTER_PMIX)"};
}

#endif

void tell_removed(const mpi::RemovedSegments& removed) {
  if (removed.files == 0) return;
  log::info("ranks.shared_memory", {{"removed", removed.files},
                                    {"bytes", removed.bytes},
                                    {"reason", "ranks that were killed have left it"}});
}

class RankServices final : public AttemptServices {
 public:
  RankServices(const AgentDoors& doors, const AgentContext& context)
      : doors_(doors), context_(context), segments_(doors.loop, mpi::kSegmentFolder, geteuid()) {}

  Status check(const std::string& program) override {
    const FrameworkOptions& framework = context_.options.framework;
    MUSTER_RETURN_IF_ERROR(check_rank_program(doors_.files, framework, program));
    return framework.uses_pmix() ? check_pmix(doors_.files) : Status();
  }

  std::unique_ptr<mpi::RankServer> make_rank_server(const mpi::RankServerHooks& hooks) override {
    const FrameworkOptions& framework = context_.options.framework;
    if (framework.uses_pmi()) return std::make_unique<mpi::PmiRanks>(doors_.loop, hooks);
    if (framework.uses_pmix()) return make_pmix(doors_, context_, hooks);
    return nullptr;  // whoever starts the ranks serves them
  }

  void attempt_begins() override {
    if (since_) segments_.begin(*since_, tell_removed);
    since_ = doors_.clock.wall_now();
  }

  // Without a word: why the job ended stays the last line.
  void clean_up(const std::function<void()>& done) override {
    if (!since_) return done();
    segments_.begin(*since_, [done](const mpi::RemovedSegments&) { done(); });
  }

 private:
  AgentDoors doors_;
  const AgentContext& context_;
  mpi::SegmentSweeper segments_;
  std::optional<WallTime> since_;  // the last attempt; none = there was none
};

}  // namespace

std::unique_ptr<AttemptServices> make_attempt_services(const AgentDoors& doors,
                                                       const AgentContext& context) {
  const Options& options = context.options;
  if (options.framework.is_mpi() || options.nodes.rsh)
    return std::make_unique<RankServices>(doors, context);
  return std::make_unique<AttemptServices>();
}

}  // namespace muster::launcher
