#include "nccl/checks/catalogue.h"

#include <algorithm>
#include <utility>

#include "nccl/checks/device_checks.h"
#include "nccl/checks/library_checks.h"
#include "nccl/checks/memory_checks.h"
#include "nccl/checks/network_checks.h"
#include "nccl/checks/process_checks.h"
#include "nccl/checks/rdma_checks.h"

namespace muster::nccl {
namespace {

constexpr Severity kInfo = Severity::kInfo;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kError = Severity::kError;

constexpr CheckRow kRows[] = {
    {"memlock", "too little memory may be locked for RDMA",
     "RLIMIT_MEMLOCK, CapEff, uid_map; 256 MiB are locked for a moment", kError, check_memlock},
    {"ipc_lock_ineffective", "IPC_LOCK was granted and does not count",
     "CapBnd, CapEff, the user id, uid_map", kError, check_ipc_lock_ineffective},
    {"shm_size", "/dev/shm is too small or full", "statvfs, mountinfo", kError, check_shm_size},
    {"hugepages", "EFA wants huge pages and gets none",
     "hugetlb.2MB.max, free_hugepages; one page is touched", kError, check_hugepages},
    {"mem_limit", "little memory, or the OOM killer was here", "memory.max, memory.events",
     kWarning, check_mem_limit},
    {"fds", "few descriptors", "RLIMIT_NOFILE", kWarning, check_fds},
    {"stack", "a stack without limit", "RLIMIT_STACK", kWarning, check_stack},
    {"nproc", "few processes for this user", "RLIMIT_NPROC", kError, check_nproc},
    {"pids", "few processes for this container", "pids.max", kError, check_pids},
    {"cpu_quota", "few CPUs for the workers", "cpu.max, Cpus_allowed_list", kError,
     check_cpu_quota},
    {"numa_cpuset", "CPUs far from the GPUs; NUMA balancing",
     "Cpus_allowed_list, local_cpulist, numa_balancing", kWarning, check_numa_cpuset},
    {"no_uverbs", "RDMA devices are seen and were not granted", "/dev/infiniband/uverbsN", kError,
     check_no_uverbs, /*is_raised=*/true},
    {"rdma_cm_missing", "no connection manager of RDMA", "/dev/infiniband/rdma_cm", kInfo,
     check_rdma_cm_missing},
    {"port_state", "a port is not up", "state, phys_state", kError, check_port_state},
    {"port_rate", "a port is slower than its peers", "rate", kError, check_port_rate},
    {"hca_count", "RDMA devices are missing", "their number, the GPUs', the machine's name", kError,
     check_hca_count},
    {"gid_missing", "a RoCE device has no address here", "gids, gid_attrs/types", kError,
     check_gid_missing, /*is_raised=*/true},
    {"gid_index_wrong", "NCCL_IB_GID_INDEX names a wrong entry", "NCCL_IB_GID_INDEX, gids", kError,
     nullptr, /*is_raised=*/false, /*is_of_settings=*/true},
    {"gid_varies", "the right entry differs between devices", "gids; NCCL's version", kError,
     nullptr, /*is_raised=*/false, /*is_of_settings=*/true},
    {"gid_hole_abort", "entries that NCCL 2.21 to 2.25 does not survive",
     "gids, gid_attrs/types; NCCL's version", kError, nullptr, /*is_raised=*/false,
     /*is_of_settings=*/true},
    {"gid_family", "devices with IPv4 and with IPv6 alone", "gids", kError, nullptr,
     /*is_raised=*/true},
    {"pkey", "a limited member of its partition", "pkeys", kError, check_pkey},
    {"mtu_mismatch", "interfaces of RDMA devices differ in MTU", "mtu", kWarning,
     check_mtu_mismatch},
    {"lib_missing", "the image has no driver for an RDMA device, or libfabric none for EFA",
     "/etc/libibverbs.d; libfabric", kError, check_lib_missing, /*is_raised=*/false,
     /*is_of_settings=*/true},
    {"no_plugin", "NCCL's plugin for this machine is missing",
     "/opt/amazon, Google's folders of plugins", kWarning},
    {"pcie_degraded", "a PCI link is narrower or slower than it could be",
     "current_link_width, current_link_speed", kWarning, check_pcie_degraded},
    {"numa_unknown", "nobody knows which card is near which GPU", "the PCI tree, numa_node",
     kWarning, check_numa_unknown},
    {"acs_iommu", "the IOMMU translates between GPUs", "/proc/cmdline, iommu_groups", kWarning,
     check_acs_iommu},
    {"gdr_path", "GPUDirect RDMA cannot be used",
     "nvidia_peermem, flavour of NVIDIA's driver, the kernel's version", kError, check_gdr_path},
    {"gpu_lost", "a GPU is missing, or a device node of all",
     "/proc/driver/nvidia, /sys/bus/pci/drivers/nvidia, /dev/nvidia*; NVML", kError,
     check_gpu_lost},
    {"ecc_xid", "errors in a GPU's memory", "NVML", kError, check_ecc_xid},
    {"fabric_state", "a GPU has not joined its NVLink fabric", "NVML", kError, check_fabric_state},
    {"imex", "no IMEX channel on a machine with NVLink between nodes",
     "/dev/nvidia-caps-imex-channels", kError, nullptr, /*is_raised=*/true},
    {"mig_mode", "GPUs in MIG mode", "/proc/driver/nvidia/capabilities; NVML", kError,
     check_mig_mode},
    {"gpu_busy", "other processes compute on a GPU", "NVML", kWarning, check_gpu_busy},
    {"throttle", "a GPU is slowed down by heat or power", "NVML", kWarning, check_throttle},
    {"env_conflict", "settings that do harm, or mean something else than they say",
     "the environment, NCCL's configuration files", kError, nullptr, /*is_raised=*/false,
     /*is_of_settings=*/true},
    {"ifname_unmatched", "a setting names interfaces or devices that are not here",
     "NCCL_SOCKET_IFNAME, NCCL_IB_HCA, GLOO_SOCKET_IFNAME", kError, nullptr, /*is_raised=*/false,
     /*is_of_settings=*/true},
    {"ifname_wrong", "NCCL would take a wrong interface", "interfaces, NCCL_SOCKET_IFNAME",
     kWarning, check_ifname_wrong},
    {"iface_down", "no interface is up; one address twice", "flags, operstate, addresses", kError,
     check_iface_down},
    {"dns_self", "the own name means loopback, or nothing", "/etc/hosts, DNS", kWarning,
     check_dns_self},
    {"ports", "few ephemeral ports", "ip_local_port_range", kError, check_ports},
    {"conntrack", "the table of tracked connections is full",
     "nf_conntrack_count, nf_conntrack_max", kWarning, check_conntrack},
    {"service_mesh", "a service mesh intercepts connections",
     "ISTIO_*, LINKERD*, /etc/istio, listeners on its ports", kError, check_service_mesh},
};

}  // namespace

std::span<const CheckRow> check_catalogue() { return kRows; }

bool is_of_settings(std::string_view id) {
  return std::ranges::any_of(
      kRows, [id](const CheckRow& row) { return row.id == id && row.is_of_settings; });
}

std::vector<Finding> check_node(const CheckQuestion& question) {
  std::vector<Finding> findings;
  for (const CheckRow& row : kRows) {
    for (const Finding& planned : question.plan.findings) {
      if (planned.id != row.id) continue;
      Finding finding = planned;
      const bool is_raised = row.is_raised && question.job.has_many_nodes;
      if (is_raised && finding.severity == kWarning) finding.severity = row.most;
      judge_by_version(question, finding);
      findings.push_back(std::move(finding));
    }
    if (row.run == nullptr) continue;
    for (Verdict& verdict : row.run(question)) {
      findings.push_back({std::string(row.id), verdict.severity, std::move(verdict.what),
                          std::move(verdict.remedy)});
    }
  }
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::severity);
  return findings;
}

}  // namespace muster::nccl
