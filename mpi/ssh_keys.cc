#include "mpi/ssh_keys.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/base64.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kEd25519 = "ssh-ed25519";
constexpr size_t kEd25519Bytes = 32;
constexpr std::string_view kMagic("openssh-key-v1\0", 15);
constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----\n";
constexpr size_t kLineDigits = 70;
constexpr size_t kBlockBytes = 8;  // of the cipher "none"
constexpr size_t kMaxTypeBytes = 64;

Error config(std::string text) { return {Code::kConfig, 0, std::move(text)}; }

// RFC 4251, 5: uint32 is big-endian, a string is its length and its bytes.
std::string number(uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string field(std::string_view bytes) {
  return number(static_cast<uint32_t>(bytes.size())) + std::string(bytes);
}

std::optional<uint32_t> take_number(std::string_view& rest) {
  if (rest.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (const char byte : rest.substr(0, 4)) value = value << 8 | static_cast<uint8_t>(byte);
  rest.remove_prefix(4);
  return value;
}

std::optional<std::string_view> take_field(std::string_view& rest) {
  std::string_view after = rest;
  const auto bytes = take_number(after);
  if (!bytes || *bytes > after.size()) return std::nullopt;
  const std::string_view taken = after.substr(0, *bytes);
  rest = after.substr(*bytes);
  return taken;
}

bool is_type(std::string_view word) {
  const auto usual = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '@';
  };
  const bool known =
      word.starts_with("ssh-") || word.starts_with("ecdsa-sha2-") || word.starts_with("sk-");
  return known && word.size() <= kMaxTypeBytes && std::all_of(word.begin(), word.end(), usual);
}

std::optional<SshPublicKey> key_of_blob(std::string_view blob) {
  std::string_view rest = blob;
  const auto type = take_field(rest);
  if (!type || !is_type(*type) || rest.empty()) return std::nullopt;
  return SshPublicKey{std::string(*type), std::string(blob)};
}

// The options of a line end at the first blank outside of quotes.
std::string_view without_options(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (line[i] == ' ' || line[i] == '\t')) return line.substr(i);
  }
  return "";
}

Error not_a_private_key() {
  return config("it holds no private key that OpenSSH reads (OpenSSH's own format or PEM)");
}

Error protected_key() {
  return config(
      "it is protected by a passphrase, which nobody could type; mount one without (ssh-keygen -p "
      "-N '' -f FILE)");
}

Result<SshPrivateKey> check_openssh_format(std::string_view text) {
  const size_t end = text.find("-----END OPENSSH PRIVATE KEY-----");
  if (end == std::string_view::npos) return config("its end is missing: it was cut off");
  const size_t line = text.find('\n');
  std::string digits;
  for (const char c : text.substr(line, end - line)) {
    if (c != '\n' && c != '\r' && c != ' ') digits += c;
  }
  const auto bytes = from_base64(digits);
  if (!bytes || !bytes->starts_with(kMagic)) return not_a_private_key();
  std::string_view rest = std::string_view(*bytes).substr(kMagic.size());
  const auto cipher = take_field(rest);
  const auto derivation = take_field(rest);
  const auto options = take_field(rest);
  const auto keys = take_number(rest);
  const auto blob = take_field(rest);
  if (!cipher || !derivation || !options || keys != 1U || !blob) return not_a_private_key();
  if (*cipher != "none") return protected_key();
  const auto public_key = key_of_blob(*blob);
  if (!public_key) return not_a_private_key();
  return SshPrivateKey{*public_key};
}

}  // namespace

std::string SshPublicKey::text() const { return type + " " + to_base64(blob); }

Result<SshPublicKey> parse_ssh_public_key(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 2 || !is_type(words[0])) return config("it is no public key of SSH");
  const auto blob = from_base64(words[1]);
  auto key = blob ? key_of_blob(*blob) : std::nullopt;
  if (!key) return config("its public key is damaged");
  if (key->type != words[0])
    return config("it says " + std::string(words[0]) + " and holds " + key->type);
  return *std::move(key);
}

Result<std::vector<SshPublicKey>> parse_ssh_authorized_keys(std::string_view text) {
  std::vector<SshPublicKey> keys;
  size_t number_of_line = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number_of_line;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (keys.size() == kMaxSshAuthorizedKeys) {
      return Error{Code::kLimit, 0,
                   "more than " + std::to_string(kMaxSshAuthorizedKeys) + " authorized keys"};
    }
    if (!is_type(line.substr(0, line.find_first_of(" \t")))) line = without_options(line);
    auto key = parse_ssh_public_key(line);
    if (!key) return std::move(key).error().with_context("line " + std::to_string(number_of_line));
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) return config("it holds no key");
  return keys;
}

SshPublicKey ed25519_public_key(std::string_view bytes) {
  return {std::string(kEd25519), field(kEd25519) + field(bytes)};
}

std::optional<std::string> ed25519_bytes(const SshPublicKey& key) {
  std::string_view rest = key.blob;
  const auto type = take_field(rest);
  const auto bytes = take_field(rest);
  if (type != kEd25519 || !bytes || bytes->size() != kEd25519Bytes || !rest.empty())
    return std::nullopt;
  return std::string(*bytes);
}

SshKeyPair ssh_key_pair(const Ed25519KeyPair& pair, uint32_t check, std::string_view comment) {
  const std::string public_bytes(pair.public_key.begin(), pair.public_key.end());
  SshKeyPair made;
  made.public_key = ed25519_public_key(public_bytes);
  std::string secret = number(check) + number(check) + field(kEd25519) + field(public_bytes) +
                       field(std::string(pair.seed.begin(), pair.seed.end()) + public_bytes) +
                       field(comment);
  for (char fill = 1; secret.size() % kBlockBytes != 0; ++fill) secret += fill;
  const std::string digits =
      to_base64(std::string(kMagic) + field("none") + field("none") + field("") + number(1) +
                field(made.public_key.blob) + field(secret));
  made.private_file = kBegin;
  for (size_t at = 0; at < digits.size(); at += kLineDigits)
    made.private_file += digits.substr(at, kLineDigits) + "\n";
  made.private_file += kEnd;
  return made;
}

Result<SshPrivateKey> check_ssh_private_key(std::string_view text) {
  text = trim(text);
  if (text.empty()) return config("it is empty");
  if (parse_ssh_public_key(text.substr(0, text.find('\n'))))
    return config("it is a public key; the private one belongs there");
  const std::string_view first = trim(text.substr(0, text.find('\n')));
  if (first == trim(kBegin)) return check_openssh_format(text);
  if (first == "-----BEGIN ENCRYPTED PRIVATE KEY-----") return protected_key();
  constexpr std::array<std::string_view, 3> kPem = {"-----BEGIN EC PRIVATE KEY-----",
                                                    "-----BEGIN RSA PRIVATE KEY-----",
                                                    "-----BEGIN PRIVATE KEY-----"};
  if (std::find(kPem.begin(), kPem.end(), first) == kPem.end()) return not_a_private_key();
  if (text.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos) return protected_key();
  if (text.find("-----END ") == std::string_view::npos)
    return config("its end is missing: it was cut off");
  return SshPrivateKey{};
}

Result<SshKeyFiles> find_ssh_key_files(const std::vector<std::string>& names) {
  struct Layout {
    const char* private_key;
    const char* public_key;
  };
  constexpr std::array kLayouts = {
      Layout{"id_ed25519", "id_ed25519.pub"}, Layout{"id_ecdsa", "id_ecdsa.pub"},
      Layout{"id_rsa", "id_rsa.pub"}, Layout{"ssh-privatekey", "ssh-publickey"}};
  const auto there = [&names](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Layout& layout : kLayouts) {
    if (!there(layout.private_key)) continue;
    SshKeyFiles files;
    files.private_key = layout.private_key;
    if (there(layout.public_key)) files.public_key = layout.public_key;
    if (there("authorized_keys")) files.authorized_keys = "authorized_keys";
    return files;
  }
  std::vector<std::string> wanted;
  for (const Layout& layout : kLayouts) wanted.emplace_back(layout.private_key);
  return config("no private key in it: looked for " + join(wanted, ", "));
}

}  // namespace muster::mpi
