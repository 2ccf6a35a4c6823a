// Volumes and a Git repository, out of flags.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/render/form_of_flags_parts.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr const char* kGitImage = "registry.k8s.io/git-sync/git-sync:v4.4.0";

std::string numbered(const char* what, size_t index) {
  return std::string(what) + "-" + std::to_string(index + 1);
}

json claim_spec(const ClaimFlag& claim) {
  json spec = {{"accessModes", claim.access},
               {"resources", {{"requests", {{"storage", claim.size}}}}},
               {"volumeMode", claim.block ? "Block" : "Filesystem"}};
  if (!claim.storage_class.empty()) spec["storageClassName"] = claim.storage_class;
  return spec;
}

std::string claim_name(const RenderRequest& request, size_t index) {
  return request.name + "-" + numbered("data", index);
}

void add_claim(const RenderRequest& request, size_t index, json& pod) {
  const ClaimFlag& claim = request.storage.claims[index];
  const std::string name = numbered("data", index);
  json source;
  if (claim.keep)
    source["persistentVolumeClaim"]["claimName"] = claim_name(request, index);
  else
    source["ephemeral"]["volumeClaimTemplate"]["spec"] = claim_spec(claim);
  if (!claim.block) return add_volume(pod, name, std::move(source), claim.path, claim.read_only);
  source["name"] = name;
  pod["spec"]["volumes"].push_back(std::move(source));
  container_of(pod)["volumeDevices"].push_back({{"name", name}, {"devicePath", claim.path}});
}

json source_of(const RenderRequest& request, const MountFlag& mount) {
  switch (mount.kind) {
    case MountKind::kClaim:
      return {{"persistentVolumeClaim", {{"claimName", mount.source}}}};
    case MountKind::kConfigMap:
      return {{"configMap", {{"name", mount.source}}}};
    case MountKind::kSecret:
      return {{"secret", {{"secretName", mount.source}}}};
    case MountKind::kFolder:
      break;
  }
  const std::string& host = mount.nfs_host.empty() ? request.storage.nfs_server : mount.nfs_host;
  if (host.empty()) return {{"hostPath", {{"path", mount.source}}}};
  json nfs = {{"server", host}, {"path", mount.source}};
  if (mount.read_only) nfs["readOnly"] = true;
  return {{"nfs", std::move(nfs)}};
}

json secret_variable(const std::string& name, const std::string& secret, const char* key) {
  return {{"name", name}, {"valueFrom", {{"secretKeyRef", {{"name", secret}, {"key", key}}}}}};
}

std::string git_secret(const RenderRequest& request) { return request.name + "-git"; }

json claim_document(const RenderRequest& request, size_t index, const JobForm& form) {
  json made = document(form, "v1", "PersistentVolumeClaim", claim_name(request, index));
  made["spec"] = claim_spec(request.storage.claims[index]);
  return made;
}

}  // namespace

void add_storage(const RenderRequest& request, json& pod) {
  const StorageFlags& flags = request.storage;
  for (size_t i = 0; i < flags.claims.size(); ++i) add_claim(request, i, pod);
  for (size_t i = 0; i < flags.mounts.size(); ++i) {
    const MountFlag& mount = flags.mounts[i];
    add_volume(pod, numbered("volume", i), source_of(request, mount), mount.path, mount.read_only);
  }
}

// Facts: git-sync 4, README.md: --link is a name below --root by default that of the repository,
// and one reference names a branch, a tag or a commit.
void add_git(const RenderRequest& request, json& pod) {
  if (!request.storage.git) return;
  const GitFlag& git = *request.storage.git;
  add_volume(pod, "git", {{"emptyDir", json::object()}}, git.target);
  pod["spec"]["volumes"].push_back({{"name", "git-tmp"}, {"emptyDir", json::object()}});
  json words = {"--repo=" + escaped(git.source), "--root=" + escaped(git.target), "--one-time"};
  const std::string& reference = git.rev.empty() ? git.branch : git.rev;
  if (!reference.empty()) words.push_back("--ref=" + escaped(reference));
  json container = {{"name", "git-sync"},
                    {"image", kGitImage},
                    {"args", std::move(words)},
                    {"securityContext", locked_down()},
                    {"volumeMounts", json::array({{{"name", "git"}, {"mountPath", git.target}},
                                                  {{"name", "git-tmp"}, {"mountPath", "/tmp"}}})}};
  if (!git.password.empty()) {
    const std::string secret = git_secret(request);
    container["env"] = json::array({secret_variable("GITSYNC_USERNAME", secret, "username"),
                                    secret_variable("GITSYNC_PASSWORD", secret, "password")});
  }
  pod["spec"]["initContainers"].push_back(std::move(container));
}

void add_storage_documents(const RenderRequest& request, JobForm& form) {
  int pods = 0;
  for (const PodForm& alike : form.pods) pods += form.runs ? form.runs->parallelism : alike.pods;
  for (size_t i = 0; i < request.storage.claims.size(); ++i) {
    const ClaimFlag& claim = request.storage.claims[i];
    if (!claim.keep) continue;
    form.beside.push_back(claim_document(request, i, form));
    if (pods > 1 && claim.access == std::vector<std::string>{"ReadWriteOnce"})
      form.remarks.push_back(claim.flag + ": " + claim.path + " is ReadWriteOnce: all " +
                             counted(static_cast<size_t>(pods), "pod", "pods") +
                             " must be on one node");
  }
  if (!request.storage.git || request.storage.git->password.empty()) return;
  json secret = document(form, "v1", "Secret", git_secret(request));
  secret["stringData"] = {{"username", request.storage.git->username},
                          {"password", request.storage.git->password}};
  form.beside.push_back(std::move(secret));
  form.remarks.emplace_back("--git-sync: the manifests hold a password, in the Secret " +
                            git_secret(request));
}

}  // namespace muster::launcher
