#include "launcher/frameworks/mpi/launch_transport.h"

#include <utility>

#include "launcher/frameworks/mpi/mpi_ssh.h"
#include "launcher/frameworks/mpi/mpi_sshd.h"

namespace muster::launcher {

Result<std::unique_ptr<LaunchTransport>> make_launch_transport(LaunchTransportSetup setup) {
  const FrameworkOptions& framework = setup.job.context.options.framework;
  if (framework.uses_ssh()) return MpiSsh::create(std::move(setup));
  if (framework.uses_sshd()) return MpiSshd::create(std::move(setup));
  return std::make_unique<LaunchTransport>();
}

}  // namespace muster::launcher
