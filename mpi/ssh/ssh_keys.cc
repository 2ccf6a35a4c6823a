#include "mpi/ssh/ssh_keys.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kAuthorizedKeys = "authorized_keys";
constexpr std::array<std::string_view, 4> kPrivateKeys = {"id_ed25519", "id_ecdsa", "id_rsa",
                                                          "ssh-privatekey"};

bool is_base64(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  });
}

}  // namespace

std::optional<std::string> public_key_of(std::string_view line) {
  const auto words = words_of(line);
  // "AAAA": the length of the type, which comes first, is a number of four bytes below 64.
  if (words.size() < 2 || !words[1].starts_with("AAAA") || !is_base64(words[1]))
    return std::nullopt;
  return std::string(words[0]) + " " + std::string(words[1]);
}

bool is_ed25519_key(std::string_view key) {
  return key.starts_with(kEd25519Begin) && key.size() == kEd25519Begin.size() + kEd25519Digits &&
         is_base64(key.substr(kEd25519Begin.size()));
}

Result<SshKeyFiles> find_ssh_key_files(const std::vector<std::string>& names) {
  const auto is_there = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string_view name : kPrivateKeys) {
    if (!is_there(name)) continue;
    return SshKeyFiles{std::string(name),
                       is_there(kAuthorizedKeys) ? std::string(kAuthorizedKeys) : ""};
  }
  return Error{Code::kConfig, 0,
               "no private key in it: looked for " +
                   join(std::vector<std::string>(kPrivateKeys.begin(), kPrivateKeys.end()), ", ")};
}

}  // namespace muster::mpi
