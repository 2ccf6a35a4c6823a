#include "base/http_port.h"

#include <utility>

namespace muster {

HttpPort::HttpPort(Loop& loop, Network& network, size_t most, HttpServer::Answer answer)
    : server_(loop, most, std::move(answer)), listener_(loop, network, [this](UniqueFd connection) {
        server_.adopt({std::move(connection), "", {}});
      }) {}

}  // namespace muster
