#include "rendezvous/wire/job_secret.h"

#include <fmt/core.h>

#include <cstring>
#include <string>
#include <utility>

namespace muster::rendezvous {

namespace {

constexpr std::string_view kSecretPrefix = "MUSTER_JOB_SECRET";

Error unusable(const std::string& what) {
  return {Code::kConfig, 0, fmt::format("{}: {}", kJobSecretFileVariable, what)};
}

Result<std::optional<TlsKey>> key_from(std::string_view secret, std::string_view path) {
  if (secret.ends_with('\n')) secret.remove_suffix(1);
  if (secret.empty()) return unusable(fmt::format("'{}' is empty", path));
  if (secret.size() < kMinJobSecretBytes) {
    return unusable(fmt::format("'{}' holds {} bytes, at least {} are needed", path, secret.size(),
                                kMinJobSecretBytes));
  }
  auto key = derive_tls_key(secret);
  if (!key) return std::move(key).error();
  return std::optional<TlsKey>(*key);
}

}  // namespace

Result<std::optional<TlsKey>> read_job_secret(const Environment& environment, const Files& files) {
  const auto path = environment.get(kJobSecretFileVariable);
  if (!path) return std::optional<TlsKey>();
  // Whoever sets it wants protection; an empty value must not switch it off in silence.
  if (path->empty()) return unusable("set, but names no file");
  auto content = files.read(std::string(*path), kMaxJobSecretBytes);
  if (!content) return unusable(content.error().text);
  auto key = key_from(*content, *path);
  explicit_bzero(content->data(), content->size());
  return key;
}

Result<std::unique_ptr<TlsContext>> tls_from_secret(const Environment& environment,
                                                    const Files& files) {
  auto key = read_job_secret(environment, files);
  if (!key) return std::move(key).error();
  if (!*key) return std::unique_ptr<TlsContext>();
  return TlsContext::create(**key);
}

std::vector<PlannedVariable> secret_variables(const Environment& environment) {
  std::vector<PlannedVariable> secrets;
  for (const auto& [name, value] : environment.variables()) {
    if (!name.starts_with(kSecretPrefix)) continue;
    secrets.push_back({.name = name,
                       .value = std::nullopt,
                       .reason = "secret of the agents",
                       .source = "muster"});
  }
  return secrets;
}

}  // namespace muster::rendezvous
