#include "launcher/program/store_verb.h"

#include <csignal>
#include <optional>
#include <string_view>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "rendezvous/port/job_port.h"
#include "rendezvous/store/store_server.h"

namespace muster::launcher {

namespace {

using rendezvous::JobPort;
using rendezvous::Protocol;
using rendezvous::StoreServer;

constexpr uint16_t kDefaultPort = 29400;  // torchrun's rendezvous port

constexpr const char* kHelp =
    "usage: muster store [--port N] [--host ADDR]\n"
    "\n"
    "Serves PyTorch's TCPStore protocol (clients of 1.13, 2.0, and 2.2 or later) until SIGTERM.\n"
    "\n"
    "  --port N     port to listen on; 0 lets the kernel choose (default 29400)\n"
    "  --host ADDR  numeric address to listen on; \"::\" is every interface (default 127.0.0.1:\n"
    "               the protocol has no authentication)\n"
    "\n"
    "Prints \"listening on ADDR:PORT\" when clients can connect.\n";

struct StoreOptions {
  Address address{"127.0.0.1", kDefaultPort};
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Status set_option(StoreOptions& options, std::string_view flag, const std::string& value) {
  if (flag == "--port") {
    const auto port = parse_integer(value);
    if (!port || *port < 0 || *port > UINT16_MAX) {
      return usage("--port: '" + value + "' is not a port from 0 to 65535");
    }
    options.address.port = static_cast<uint16_t>(*port);
    return {};
  }
  const auto host = parse_numeric_host(value);
  if (!host) return usage("--host: '" + value + "' is not a numeric address");
  options.address.host = *host;
  return {};
}

Result<StoreOptions> parse(const std::vector<std::string>& arguments) {
  StoreOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (flag != "--port" && flag != "--host") return usage("unknown argument '" + word + "'");
    const bool inline_value = equals != std::string::npos;
    if (!inline_value && i + 1 == arguments.size()) return usage(flag + " needs a value");
    MUSTER_RETURN_IF_ERROR(
        set_option(options, flag, inline_value ? word.substr(equals + 1) : arguments[++i]));
  }
  return options;
}

bool is_stop(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGHUP; }

// Serves until a signal says stop.
Status serve(const Address& address, Loop& loop, Network& network, int signal_fd,
             std::FILE* output) {
  StoreServer server(loop);
  JobPort port(loop, network);
  const auto adopt = [&server](Arrival arrival) {
    server.adopt(std::move(arrival.connection), arrival.first_bytes);
  };
  port.serve(Protocol::kStoreCurrent, adopt);
  port.serve(Protocol::kStoreLegacy, adopt);
  const auto bound = port.listen(address);
  if (!bound) return Error(bound.error());
  // The reader may be gone already; the store serves on.
  (void)std::fprintf(output, "listening on %s\n", bound->to_string().c_str());
  (void)std::fflush(output);
  MUSTER_RETURN_IF_ERROR(run_with_signals(loop, signal_fd, [&loop](const ReceivedSignal& signal) {
    if (is_stop(signal.number)) loop.stop();
  }));
  const auto counters = server.counters();
  log::info("store.stopped", {{"requests", counters.requests},
                              {"connections", counters.connections},
                              {"keys", counters.keys},
                              {"dropped", counters.dropped}});
  return {};
}

}  // namespace

int run_store_verb(const std::vector<std::string>& arguments, Loop& loop, Network& network,
                   int signal_fd, std::FILE* output, std::FILE* errors) {
  const auto options = parse(arguments);
  if (!options) return complain(errors, "muster store", options.error().text, kExitUsage);
  if (options->help) {
    (void)std::fputs(kHelp, output);
    return 0;
  }
  if (auto served = serve(options->address, loop, network, signal_fd, output); !served)
    return complain(errors, "muster store", served.error().text, kExitOs);
  return 0;
}

}  // namespace muster::launcher
