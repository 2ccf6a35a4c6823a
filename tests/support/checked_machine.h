// CheckedMachine: a machine of tests/data/machines/fabric that a test changes, and what the checks
// say of it then.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/text.h"
#include "nccl/checks/catalogue.h"
#include "nccl/checks/node_facts.h"
#include "tests/support/fake_files.h"

namespace muster::testing {

class CheckedMachine {
 public:
  /// `tree`: its name without ".tree".
  explicit CheckedMachine(const std::string& tree) {
    const Status added =
        files.add_tree_text(std::string(MUSTER_TEST_DATA) + "/machines/fabric/" + tree + ".tree");
    EXPECT_TRUE(added) << (added ? "" : added.error().text);
    const std::string text = files.content("/environ");
    for (const std::string_view line : split(text, '\n')) environment.set_entry(line);
  }

  /// As many workers as GPUs, unless `workers` says otherwise.
  [[nodiscard]] std::vector<nccl::Finding> findings() const {
    auto node = nccl::read_node_facts(
        {files, nccl::MachineSource::kRecorded, nccl::MachineDetail::kAll}, environment);
    EXPECT_TRUE(node);
    if (!node) return {};
    nccl::CheckedJob asked = job;
    if (workers == 0) {
      const auto gpus = nccl::usable_accelerators(node->fabric.machine).size();
      asked.workers = std::max(1, static_cast<int>(gpus));
    } else {
      asked.workers = workers;
    }
    return nccl::check_node(nccl::make_question(*node, probes, asked));
  }
  /// The gravest severity of this id; "" = it was not found.
  [[nodiscard]] std::string severity_of(const std::string& id) const {
    std::string severity;
    nccl::Severity gravest = nccl::Severity::kInfo;
    for (const nccl::Finding& finding : findings()) {
      if (finding.id != id || (!severity.empty() && finding.severity < gravest)) continue;
      gravest = finding.severity;
      severity = nccl::to_string(gravest);
    }
    return severity;
  }
  /// "error memlock: ..." of the findings that are more than information, a line each.
  [[nodiscard]] std::string problems() const {
    std::string text;
    for (const nccl::Finding& finding : findings()) {
      if (finding.severity != nccl::Severity::kInfo)
        text += std::string(nccl::to_string(finding.severity)) + " " + finding.id + ": " +
                finding.what + "\n";
    }
    return text;
  }
  /// The file at `path`, with the first `from` in it replaced.
  void edit(const std::string& path, const std::string& from, const std::string& to) {
    std::string text = files.content(path);
    const size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << path << " has no '" << from << "'";
    files.add_file(path, text.replace(place, from.size(), to));
  }
  /// An attribute of an RDMA device's first port, wherever its links lead.
  void set_port(const std::string& device, const std::string& name, const std::string& text) {
    const Status written =
        files.write("/sys/class/infiniband/" + device + "/ports/1/" + name, text + "\n");
    ASSERT_TRUE(written);
  }
  void set_pci(const std::string& address, const std::string& name, const std::string& text) {
    ASSERT_TRUE(files.write("/sys/bus/pci/devices/" + address + "/" + name, text + "\n"));
  }

  /// As a node that has only its network cards.
  void remove_nvidia_gpus() {
    files.remove("/proc/driver/nvidia");
    for (int i = 0; i < 8; ++i) files.remove("/dev/nvidia" + std::to_string(i));
  }

  FakeFiles files;
  Environment environment;
  nccl::ProbeResults probes;
  nccl::CheckedJob job;
  int workers = 0;
};

}  // namespace muster::testing
