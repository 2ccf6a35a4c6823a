// Flags of what a pod's container may use: CPUs, memory, GPUs, volumes, a Git repository.
#include <algorithm>

#include "base/text.h"
#include "launcher/render/render_flag_rows.h"
#include "launcher/render/render_values.h"

namespace muster::launcher {

namespace {

// Of the parts "PATH[:ro]" at the end of a volume's text.
Status take_path(std::span<const std::string_view> parts, std::string& path, bool& read_only) {
  auto mount_path = as_mount_path(parts.front());
  if (!mount_path) return std::move(mount_path).error().with_context("the path");
  path = *std::move(mount_path);
  read_only = parts.size() == 2;
  if (parts.size() > 2 || (read_only && parts.back() != "ro"))
    return wrong("must end with the path, or with :ro behind it");
  return {};
}

Status take_new_claim(std::span<const std::string_view> parts, StorageFlags& storage) {
  if (parts.size() < 3) return wrong("must be [CLASS]:SIZE:PATH[:ro]");
  ClaimFlag claim{.flag = "--pvc"};
  auto size = as_quantity(parts[1]);
  if (!size) return std::move(size).error().with_context("the size");
  claim.size = *std::move(size);
  if (!parts[0].empty()) {
    auto name = as_object_name(parts[0]);
    if (!name) return std::move(name).error().with_context("the class");
    claim.storage_class = *std::move(name);
  }
  MUSTER_RETURN_IF_ERROR(take_path(parts.subspan(2), claim.path, claim.read_only));
  storage.claims.push_back(std::move(claim));
  return {};
}

Status take_named(MountKind kind, std::span<const std::string_view> parts, StorageFlags& storage) {
  MountFlag mount{.kind = kind};
  auto name = as_object_name(parts[0]);
  if (!name) return std::move(name).error().with_context("the name");
  mount.source = *std::move(name);
  MUSTER_RETURN_IF_ERROR(take_path(parts.subspan(1), mount.path, mount.read_only));
  storage.mounts.push_back(std::move(mount));
  return {};
}

// The second part tells the two forms apart: it is a size or a path.
Status add_claim(RenderRequest& request, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const bool is_new = parts.front().empty() || (parts.size() > 1 && quantity_of(parts[1]));
  if (is_new) return take_new_claim(parts, request.storage);
  if (parts.size() < 2) return wrong("must be [CLASS]:SIZE:PATH[:ro] or NAME:PATH[:ro]");
  return take_named(MountKind::kClaim, parts, request.storage);
}

template <MountKind kKind>
Status add_named(RenderRequest& request, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2) return wrong("must be NAME:PATH");
  MUSTER_RETURN_IF_ERROR(take_named(kKind, parts, request.storage));
  request.storage.mounts.back().read_only = true;
  return {};
}

// The host of NFS may come without "ro".
Result<MountFlag> as_folder(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  MountFlag mount;
  if (parts.size() > 2 && parts.back() != "ro") {
    auto host = as_object_name(parts.back());
    if (!host) return std::move(host).error().with_context("the nfs-host");
    mount.nfs_host = *std::move(host);
    parts.pop_back();
  }
  if (parts.size() < 2) return wrong("must be SOURCE:PATH[:ro][:nfs-host]");
  auto source = as_mount_path(parts[0]);
  if (!source) return std::move(source).error().with_context("the source");
  mount.source = *std::move(source);
  if (auto taken = take_path(std::span(parts).subspan(1), mount.path, mount.read_only); !taken)
    return std::move(taken).error();
  return mount;
}

Status add_folders(RenderRequest& request, std::string_view text) {
  for (const std::string_view part : split(text, ',')) {
    auto mount = as_folder(part);
    if (!mount) return std::move(mount).error();
    request.storage.mounts.push_back(*std::move(mount));
  }
  return {};
}

Result<std::vector<std::string>> as_access(std::string_view text) {
  constexpr Choice<std::string_view> kModes[] = {
      {"rwo", "ReadWriteOnce"}, {"rox", "ReadOnlyMany"}, {"rwx", "ReadWriteMany"}};
  std::vector<std::string> all;
  for (const std::string_view part : split(text, '+')) {
    const auto mode = choose(part, kModes);
    if (!mode) return wrong("must be out of rwo, rox and rwx, with + between");
    if (std::ranges::find(all, *mode) == all.end()) all.emplace_back(*mode);
  }
  return all;
}

template <typename Value>
Status assign(Value& into, Result<Value> value) {
  if (!value) return std::move(value).error();
  into = *std::move(value);
  return {};
}

constexpr Choice<bool> kModes[] = {{"filesystem", false}, {"block", true}};
constexpr Choice<bool> kYesNo[] = {{"yes", true}, {"no", false}};

Status take_storage_field(ClaimFlag& claim, std::string_view key, std::string_view text) {
  if (key == "class") return assign(claim.storage_class, as_object_name(text));
  if (key == "size") return assign(claim.size, as_quantity(text));
  if (key == "access") return assign(claim.access, as_access(text));
  if (key == "mode") return assign(claim.block, choose(text, kModes));
  if (key == "path") return assign(claim.path, as_mount_path(text));
  return assign(claim.keep, choose(text, kYesNo));
}

Result<ClaimFlag> as_storage(std::string_view text) {
  const auto fields = as_fields(text, {"class", "size", "access", "mode", "path", "keep"});
  if (!fields) return Error(fields.error());
  ClaimFlag claim{.flag = "--storage"};
  for (const auto& [key, value] : *fields) {
    if (auto taken = take_storage_field(claim, key, value); !taken)
      return std::move(taken).error().with_context(key + "=");
  }
  if (claim.size.empty() || claim.path.empty()) return wrong("must have size= and path=");
  return claim;
}

// A user in the URL would stand in the manifest, and in the list of processes.
Result<std::optional<GitFlag>> as_git(std::string_view text) {
  const auto fields =
      as_fields(text, {"source", "branch", "rev", "username", "password", "target"});
  if (!fields) return Error(fields.error());
  GitFlag git;
  for (const auto& [key, value] : *fields) {
    if (key == "source") git.source = value;
    if (key == "branch") git.branch = value;
    if (key == "rev") git.rev = value;
    if (key == "username") git.username = value;
    if (key == "password") git.password = value;
    if (key == "target") MUSTER_RETURN_IF_ERROR(assign(git.target, as_mount_path(value)));
  }
  if (git.source.empty()) return wrong("must have source=");
  const size_t scheme = git.source.find("://");
  const bool has_user = scheme != std::string::npos && !git.source.starts_with("ssh") &&
                        git.source.substr(scheme + 3).find('@') != std::string::npos;
  if (has_user) return wrong("source= must have no user; username= and password= become a Secret");
  if (git.username.empty() != git.password.empty())
    return wrong("must have username= and password= together");
  return git;
}

Result<TextPair> as_device(std::string_view text) {
  auto device = as_label(text);
  const bool is_plugins = device && device->first.find('/') != std::string::npos;
  const auto count = device ? parse_integer(device->second) : std::nullopt;
  if (is_plugins && count && *count > 0)
    return TextPair{std::move(device->first), std::to_string(*count)};
  return wrong("must be DOMAIN/NAME=N, N more than 0");
}

constexpr RenderFlag kResources[] = {
    {"cpu", 0, "CPUS", set_field<&ResourceFlags::cpu, as_cpu>, "asked for: 2, 0.5, 500m"},
    {"cpu-limit", 0, "CPUS", set_field<&ResourceFlags::cpu_limit, as_cpu>, "at most"},
    {"memory", 0, "SIZE", set_field<&ResourceFlags::memory, as_quantity>, "asked for: 64Gi, 500M"},
    {"memory-limit", 0, "SIZE", set_field<&ResourceFlags::memory_limit, as_quantity>, "at most"},
    {"gpu", 'g', "GPUS", set_field<&ResourceFlags::gpu, as_gpus>,
     "of each pod: a whole number, or a share between 0 and 1"},
    {"gpu-memory", 0, "SIZE", set_field<&ResourceFlags::gpu_memory_mib, as_mib>,
     "instead of --gpu: a share with so much memory, as 1G or 20M"},
    {"resource", 0, "NAME=N", add_to_field<&ResourceFlags::devices, as_device>,
     "devices of another plugin, as rdma/hca=1; again for each"},
    {"large-shm", 0, "", set_field<&ResourceFlags::large_shm, as_switch>,
     "/dev/shm as large as the memory"},
};

constexpr RenderFlag kStorage[] = {
    {"pvc", 0, "CLAIM", add_claim,
     "[CLASS]:SIZE:PATH[:ro] is a new claim, NAME:PATH[:ro] one that is there; again for each"},
    {"volume", 'v', "FOLDERS", add_folders,
     "SOURCE:PATH[:ro][:nfs-host], of the host or over NFS; ',' between, or again for each"},
    {"nfs-server", 0, "HOST", set_field<&StorageFlags::nfs_server, as_object_name>,
     "that of the --volume without a host of its own"},
    {"storage", 0, "FIELDS", add_to_field<&StorageFlags::claims, as_storage>,
     "class=,size=,access=rwo+rox+rwx,mode=filesystem|block,path=,keep=yes|no; size and path are "
     "needed, keep=no is gone with its pod; again for each"},
    {"config-map", 0, "NAME:PATH", add_named<MountKind::kConfigMap>,
     "a ConfigMap as files; again for each"},
    {"secret", 0, "NAME:PATH", add_named<MountKind::kSecret>, "a Secret as files; again for each"},
    {"git-sync", 0, "FIELDS", set_field<&StorageFlags::git, as_git>,
     "source=,branch=,rev=,username=,password=,target=: cloned to TARGET/NAME (/code) before the "
     "program starts; only source is needed"},
};

}  // namespace

std::span<const RenderFlag> resource_rows() { return kResources; }
std::span<const RenderFlag> storage_rows() { return kStorage; }

}  // namespace muster::launcher
