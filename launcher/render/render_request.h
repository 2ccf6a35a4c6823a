// RenderRequest: what the flags of `muster render` say, by subject. Its rows are render_flags.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/render/job_form.h"

namespace muster::launcher {

struct JobFlags {
  std::string framework = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  std::vector<std::pair<std::string, std::string>> annotations = {};
  std::optional<int> runs = {};
  std::optional<int> parallelism = {};
  std::optional<int> backoff_limit = {};
  std::optional<int64_t> ttl_seconds = {};
  std::optional<int64_t> grace_seconds = {};
  bool interactive = false;
};

struct VariableFlag {
  std::string name;
  std::string value = {};
  std::string secret = {};  ///< where its value stands; "" = in `value`
  std::string key = {};     ///< of the Secret
};

struct ContainerFlags {
  std::string image = {};
  std::string pull_policy = {};  ///< as Kubernetes writes it; "" = not said
  bool local_image = false;
  bool replaces_entrypoint = false;  ///< --command: the words are the whole command
  std::vector<VariableFlag> environment = {};
  std::string working_dir = {};
  std::optional<bool> standard_input = {};
  std::optional<bool> terminal = {};
  bool attach = false;
  std::string log_level = {};  ///< as MUSTER_LOG_LEVEL
};

enum class MasterSetup { kSame, kDifferent };

/// How many pods, and what the first has of its own.
struct SizeFlags {
  std::optional<int> workers = {};    ///< without the master
  std::optional<int> processes = {};  ///< of MPI: as many workers, of one process each
  std::optional<MasterSetup> master = {};
  bool no_master = false;
  std::string master_cpu = {};
  std::string master_gpu = {};
  std::vector<VariableFlag> master_environment = {};
};

/// Quantities as Kubernetes writes them; "" = not said.
struct ResourceFlags {
  std::string cpu = {};
  std::string cpu_limit = {};
  std::string memory = {};
  std::string memory_limit = {};
  std::string gpu = {};  ///< digits, or a share below 1
  std::optional<int64_t> gpu_memory_mib = {};
  bool large_shm = false;
};

/// A claim that comes with the job.
struct ClaimFlag {
  std::string flag = {};           ///< by which it was given
  std::string storage_class = {};  ///< "" = the cluster's default
  std::string size = {};
  std::vector<std::string> access = {"ReadWriteOnce"};
  bool block = false;
  std::string path = {};
  bool keep = true;  ///< false: of a pod's own, and gone with it
  bool read_only = false;
};

enum class MountKind { kClaim, kFolder, kConfigMap, kSecret };

/// Something that is there already.
struct MountFlag {
  MountKind kind = MountKind::kFolder;
  std::string source = {};  ///< a name, or the path of a folder of the host or an NFS server
  std::string path = {};
  bool read_only = false;
  std::string nfs_host = {};  ///< "" = --nfs-server, else the folder is the host's
};

struct GitFlag {
  std::string source = {};
  std::string branch = {};
  std::string rev = {};
  std::string username = {};
  std::string password = {};
  std::string target = "/code";
};

struct StorageFlags {
  std::vector<ClaimFlag> claims = {};
  std::vector<MountFlag> mounts = {};
  std::string nfs_server = {};
  std::optional<GitFlag> git = {};
};

struct TolerationFlag {
  std::string key = {};
  std::optional<std::string> value = {};  ///< none = any
  std::string effect = {};                ///< "" = any
};

struct TopologyFlag {
  std::string key = {};
  bool required = false;
};

struct SchedulingFlags {
  std::string node_type = {};
  std::vector<std::string> node_pools = {};  ///< the best first
  std::vector<TolerationFlag> tolerations = {};
  std::vector<TopologyFlag> topology = {};
  std::string priority = {};
};

struct AccessFlags {
  std::optional<int64_t> uid = {};
  std::optional<int64_t> gid = {};
  std::vector<int64_t> groups = {};
  bool as_caller = false;  ///< --run-as-user
  int64_t caller_uid = 0;
  int64_t caller_gid = 0;
  std::vector<int64_t> caller_groups = {};
  std::optional<bool> home = {};
  std::optional<bool> prevent_escalation = {};
  bool host_ipc = false;
  bool host_network = false;
};

struct NodePortFlag {
  int port = 0;
  int node_port = 0;
};

struct ExternalUrlFlag {
  int port = 0;
  std::string host = {};
  std::string path = "/";
  bool secure = false;  ///< https
};

/// What is open to people and programs outside.
struct DoorFlags {
  std::vector<NodePortFlag> node_ports = {};
  std::vector<ExternalUrlFlag> urls = {};
  std::vector<std::string> sinks = {};  ///< as `muster sidecar --report`
  std::string token_secret = {};        ///< "" = sinks ask for no token
  std::string token_key = {};
};

struct RenderRequest {
  std::string file = {};        ///< a manifest instead of the flags; "" = none
  std::string output_dir = {};  ///< "" = stdout
  std::optional<JobKind> to = {};
  bool help = false;
  std::string name = {};
  std::string name_prefix = {};  ///< `name` is made of it
  std::string project = {};
  std::vector<std::string> words = {};

  JobFlags job = {};
  ContainerFlags container = {};
  SizeFlags size = {};
  ResourceFlags resources = {};
  StorageFlags storage = {};
  SchedulingFlags scheduling = {};
  AccessFlags access = {};
  DoorFlags doors = {};
};

}  // namespace muster::launcher
