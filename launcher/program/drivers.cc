#include "launcher/program/drivers.h"

#include <utility>

#include "launcher/frameworks/horovod.h"
#include "launcher/frameworks/jax.h"
#include "launcher/frameworks/lightgbm.h"
#include "launcher/frameworks/mpi/launcher_driver.h"
#include "launcher/frameworks/mpi/rank_driver.h"
#include "launcher/frameworks/mpi/rsh_driver.h"
#include "launcher/frameworks/paddle.h"
#include "launcher/frameworks/plain.h"
#include "launcher/frameworks/tensorflow.h"
#include "launcher/frameworks/xgboost.h"
#include "launcher/options/job_setup.h"

namespace muster::launcher {

namespace {

std::unique_ptr<FrameworkDriver> make_launcher_driver(const Options& options,
                                                      const Contract* contract) {
  auto launcher = std::make_unique<LauncherDriver>(options, contract);
  const auto made = [driver = launcher.get()](mpi::RshServer& rsh) { driver->use(rsh); };
  return std::make_unique<RshDriver>(options, std::move(launcher), made);
}

std::unique_ptr<FrameworkDriver> make_frameworks_own(const Options& options,
                                                     const Contract* contract) {
  switch (options.framework.framework) {
    case Framework::kPytorch:
      return std::make_unique<FrameworkDriver>();
    case Framework::kPlain:
      return std::make_unique<PlainDriver>(options);
    case Framework::kMpi:
      return std::make_unique<RankDriver>(options, contract);
    case Framework::kXgboost:
      return std::make_unique<XgboostDriver>(options);
    case Framework::kTensorflow:
      return std::make_unique<TensorflowDriver>(options);
    case Framework::kJax:
      return std::make_unique<JaxDriver>(options);
    case Framework::kLightgbm:
      return std::make_unique<LightgbmDriver>(options);
    case Framework::kHorovod:
      return std::make_unique<HorovodDriver>(options);
    case Framework::kPaddle:
      return std::make_unique<PaddleDriver>();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<FrameworkDriver> make_driver(const Options& options, const Contract* contract) {
  if (options.framework.starts_launcher()) return make_launcher_driver(options, contract);
  auto driver = make_frameworks_own(options, contract);
  // A node that is alone runs nothing for others.
  if (options.nodes.rsh && needs_node_agent(options))
    return std::make_unique<RshDriver>(options, std::move(driver), nullptr);
  return driver;
}

}  // namespace muster::launcher
