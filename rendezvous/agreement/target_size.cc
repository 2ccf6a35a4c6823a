#include "rendezvous/agreement/target_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace muster::rendezvous {

namespace {

Error no_size(const JobOptions& options, int nodes) {
  return {Code::kUsage, 0,
          fmt::format("{} is no size of this job, which takes {}",
                      counted(static_cast<size_t>(nodes), "node", "nodes"), sizes_text(options))};
}

std::pair<uint64_t, uint64_t> order(const SizeRequest& request) {
  return {request.term, request.number};
}

int apart(const JobOptions& options) { return options.rule.has_apart() ? 1 : 0; }

}  // namespace

Status TargetSize::follow_list(std::optional<int> nodes, const JobOptions& options) {
  if (nodes && !size_allowed(options, *nodes)) return no_size(options, *nodes - apart(options));
  listed_ = nodes;
  return {};
}

Status TargetSize::ask(int nodes, bool at_once, uint64_t term, const JobOptions& options) {
  if (listed_)
    return Error{Code::kUsage, 0,
                 "the list of hosts says how many nodes this job has: change that"};
  if (options.rule.leader_alone())
    return Error{Code::kUsage, 0, "the launcher of this job takes whatever nodes are there"};
  const int counted_nodes = nodes == 0 ? 0 : nodes + apart(options);
  if (nodes < 0 || (nodes > 0 && !size_allowed(options, counted_nodes)))
    return no_size(options, nodes);
  const SizeRequest former = asked_.value_or(SizeRequest{0, 0, 0});
  // A leader raises its term when it hears of a later one; the next may have begun without that.
  asked_ = SizeRequest{former.number + 1, counted_nodes, std::max(former.term, term)};
  at_once_ = at_once;
  return {};
}

void TargetSize::learn(const std::optional<SizeRequest>& request, const JobOptions& options) {
  if (!request || (asked_ && order(*request) <= order(*asked_))) return;
  if (request->nodes == 0 || size_allowed(options, request->nodes)) asked_ = request;
}

std::optional<int> TargetSize::nodes() const {
  if (listed_) return listed_;
  return asked_ && asked_->nodes > 0 ? std::optional(asked_->nodes) : std::nullopt;
}

GrowVerdict TargetSize::hurried(GrowVerdict verdict) const {
  if (at_once_ && !verdict.now) verdict = {true, std::nullopt, "at once, as was asked for"};
  return verdict;
}

void TargetSize::reached(int nodes, const JobOptions& options) {
  if (nodes >= this->nodes().value_or(options.max_nodes)) at_once_ = false;
}

std::string sizes_text(const JobOptions& options) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> sizes;
  for (int size = options.min_nodes; size <= options.max_nodes && sizes.size() <= kNamed; ++size) {
    if (size_allowed(options, size)) sizes.push_back(std::to_string(size - apart(options)));
  }
  if (sizes.size() == 1) return sizes.front() + (sizes.front() == "1" ? " node" : " nodes");
  if (sizes.size() > kNamed) {
    std::string text = fmt::format("{} to {} nodes", options.min_nodes - apart(options),
                                   options.max_nodes - apart(options));
    if (options.nodes_step > 1) text += fmt::format(" in steps of {}", options.nodes_step);
    return options.allowed_nodes.empty() ? text : text + ", not all of them";
  }
  const std::string last = sizes.back();
  sizes.pop_back();
  return join(sizes, ", ") + " or " + last + " nodes";
}

}  // namespace muster::rendezvous
