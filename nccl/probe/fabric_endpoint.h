// FabricEndpoint: one end of reliable messages over libfabric (FI_EP_RDM), with one peer. Sends and
// receives are begun and then waited for by turning round, which is also what moves the data of
// providers without a thread.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "nccl/probe/fabric_library.h"

namespace muster::probe {

inline constexpr size_t kMessageBytes = 1 << 20;  ///< of the flow: large enough for full speed
inline constexpr size_t kWindow = 32;             ///< messages on their way at a time

/// Where an endpoint is to be.
struct FabricPlace {
  std::string provider;   ///< "tcp;ofi_rxm"
  std::string interface;  ///< the domain, or how it begins; "" = any
  std::string host;       ///< of several addresses of a domain this one, numeric; "" = any
};

class FabricEndpoint {
 public:
  /// kConfig: no such domain here, and the text names those that are; with ENODATA no such
  /// provider. kPeer: the library refused. `library` must outlive it.
  static Result<std::unique_ptr<FabricEndpoint>> make(const FabricLibrary& library,
                                                      const FabricPlace& place);
  FabricEndpoint(const FabricEndpoint&) = delete;
  FabricEndpoint& operator=(const FabricEndpoint&) = delete;
  ~FabricEndpoint() = default;

  [[nodiscard]] std::string provider() const;
  [[nodiscard]] std::string domain() const;
  /// How many messages of the flow it can have on their way, at most kWindow.
  [[nodiscard]] size_t window() const { return window_; }
  /// Its address, as the library writes it, for the peer's set_peer(). kPeer.
  [[nodiscard]] Result<std::string> address() const;
  /// kPeer: not such an address. kProtocol: of another length than our own.
  Status set_peer(const std::string& address);

  /// Begins to receive into slot 0 to window() - 1, at most kMessageBytes. kPeer.
  Status post_receive(size_t slot);
  /// Begins to send that many bytes; the first one is `first`. kPeer.
  Status post_send(size_t bytes, char first);
  /// Turns round until all that was begun has happened: sends, or receives. kPeer.
  Status finish_sends();
  Status finish_receives();
  /// Turns round for a while, for a peer that still needs our acknowledgements. Errors do not
  /// matter any more.
  void linger();
  /// What the slot has received begins with.
  [[nodiscard]] char first_of(size_t slot) const { return slot_memory(slot)[0]; }

 private:
  template <typename T>
  struct Close {
    void operator()(T* object) const { (void)fi_close(&object->fid); }
  };
  template <typename T>
  using Handle = std::unique_ptr<T, Close<T>>;
  struct FreeMemory {
    void operator()(char* memory) const { std::free(memory); }
  };

  struct Progress {
    size_t sends = 0;      // begun and not finished
    size_t receives = 0;   // the same
    size_t next_send = 0;  // whose notes are free
    int idle_turns = 0;    // one after the other, in which nothing has happened
  };

  explicit FabricEndpoint(const FabricLibrary& library) : library_(library) {}
  Status choose(const FabricPlace& place);
  Status create();
  Status register_memory();
  /// One look at what has happened; kPeer.
  Status turn();
  [[nodiscard]] Error failed_completion();
  [[nodiscard]] char* slot_memory(size_t slot) const {
    return &memory_.get()[slot * kMessageBytes];
  }

  // Closed in the opposite order.
  const FabricLibrary& library_;
  FabricLibrary::InfoList info_{nullptr, {}};
  size_t window_ = 0;
  std::unique_ptr<char, FreeMemory> memory_;  // a slot each for receives, and one more for sends
  std::vector<fi_context2> contexts_;  // the library's notes: of each receive, then of each send
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_cq> queue_;
  Handle<fid_av> addresses_;
  Handle<fid_ep> endpoint_;
  Handle<fid_mr> registration_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  Progress progress_;
};

}  // namespace muster::probe
