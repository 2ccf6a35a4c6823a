#include "rendezvous/wire/local_link.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

class LocalLink final : public Link {
 public:
  LocalLink(Loop& loop, std::string name, LinkHandlers handlers)
      : loop_(loop), name_(std::move(name)), handlers_(std::move(handlers)) {
    wake();
  }
  ~LocalLink() override { part("the other end is gone"); }
  LocalLink(const LocalLink&) = delete;
  LocalLink& operator=(const LocalLink&) = delete;

  void meet(LocalLink& other) { other_ = &other; }

  void send(const Message& message) override {
    MUSTER_CHECK(state_ != State::kOpening);
    if (other_ == nullptr) return;
    // No limit: it is emptied every turn, and both ends are ours.
    other_->inbox_.push_back(message);
    other_->wake();
  }

  void put(const Message& message) override { send(message); }

  void put_answer(ExchangeAnswer answer) override {
    for (const Exchanged& part : *answer) send(part);
  }

  void flush() override {}  // it is with the other end already

  void close(std::string reason) override {
    if (state_ == State::kClosing || state_ == State::kEnded) return;
    part(reason);
    state_ = State::kClosing;
    inbox_.clear();
    why_ = std::move(reason);
    wake();
  }

  [[nodiscard]] const std::string& peer() const override { return name_; }

 private:
  enum class State { kOpening, kOpen, kClosing, kEnded };

  void wake() {
    if (!turn_.is_active()) turn_ = loop_.soon([this] { deliver(); });
  }

  void part(const std::string& reason) {
    if (other_ == nullptr) return;
    LocalLink* other = std::exchange(other_, nullptr);
    other->other_ = nullptr;
    other->why_ = name_ + " closed the link: " + reason;
    other->wake();
  }

  void deliver() {
    if (state_ == State::kOpening) {
      state_ = State::kOpen;
      handlers_.on_open();
    }
    // A handler may close this end: what lies behind is dropped.
    for (Message& message : std::exchange(inbox_, {})) {
      if (state_ == State::kClosing) break;
      handlers_.on_message(std::move(message));
    }
    // What the other end sent before it closed comes first.
    if (other_ != nullptr || !inbox_.empty()) return;
    state_ = State::kEnded;
    turn_.reset();
    handlers_.on_closed(Error{Code::kPeer, 0, why_});
  }

  Loop& loop_;
  std::string name_;
  LinkHandlers handlers_;
  State state_ = State::kOpening;
  LocalLink* other_ = nullptr;  // null once either end has closed
  std::vector<Message> inbox_;
  std::string why_;
  Timer turn_;
};

}  // namespace

LocalLinkPair make_local_link(Loop& loop, const std::string& name, LinkHandlers dialer,
                              LinkHandlers acceptor) {
  auto left = std::make_unique<LocalLink>(loop, name, std::move(dialer));
  auto right = std::make_unique<LocalLink>(loop, name, std::move(acceptor));
  left->meet(*right);
  right->meet(*left);
  return {std::move(left), std::move(right)};
}

}  // namespace muster::rendezvous
