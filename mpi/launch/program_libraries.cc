#include "mpi/launch/program_libraries.h"

#include <elf.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace muster::mpi {

namespace {

constexpr size_t kMostEntries = 4096;  // program headers, and dynamic ones: programs have some tens
constexpr unsigned char kOwnOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

template <typename T>
std::optional<T> at(std::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

std::vector<Elf64_Phdr> program_headers(std::string_view image) {
  std::vector<Elf64_Phdr> headers;
  const auto file = at<Elf64_Ehdr>(image, 0);
  const bool ours = file && std::memcmp(file->e_ident, ELFMAG, SELFMAG) == 0 &&
                    file->e_ident[EI_CLASS] == ELFCLASS64 && file->e_ident[EI_DATA] == kOwnOrder &&
                    file->e_phentsize == sizeof(Elf64_Phdr);
  if (!ours || file->e_phnum > kMostEntries || file->e_phoff > image.size()) return headers;
  for (uint64_t i = 0; i < file->e_phnum; ++i) {
    const auto header = at<Elf64_Phdr>(image, file->e_phoff + i * sizeof(Elf64_Phdr));
    if (!header) break;
    headers.push_back(*header);
  }
  return headers;
}

std::vector<Elf64_Dyn> dynamic_entries(std::string_view image,
                                       const std::vector<Elf64_Phdr>& headers) {
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_DYNAMIC || header.p_offset > image.size()) continue;
    const uint64_t count = header.p_filesz / sizeof(Elf64_Dyn);
    for (uint64_t i = 0; i < count && i < kMostEntries; ++i) {
      const auto entry = at<Elf64_Dyn>(image, header.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      entries.push_back(*entry);
    }
  }
  return entries;
}

// Where in the file the table of strings is: the entry says where it will be in memory.
std::optional<uint64_t> strings_at(const std::vector<Elf64_Phdr>& headers,
                                   const std::vector<Elf64_Dyn>& entries) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_STRTAB) continue;
    for (const Elf64_Phdr& header : headers) {
      const uint64_t inside = entry.d_un.d_ptr - header.p_vaddr;
      if (header.p_type == PT_LOAD && entry.d_un.d_ptr >= header.p_vaddr &&
          inside < header.p_filesz)
        return header.p_offset + inside;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> needed_libraries(std::string_view image) {
  std::vector<std::string> names;
  const auto headers = program_headers(image);
  const auto entries = dynamic_entries(image, headers);
  const auto strings = strings_at(headers, entries);
  if (!strings || *strings > image.size()) return names;
  const std::string_view table = image.substr(*strings);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= table.size()) continue;
    const std::string_view rest = table.substr(entry.d_un.d_val);
    const size_t end = rest.find('\0');
    if (end != std::string_view::npos) names.emplace_back(rest.substr(0, end));
  }
  return names;
}

// libmpi.so.12 was Open MPI 1.10's, too, which nothing here starts. The languages' libraries
// (libmpi_mpifh, libmpifort) come with their libmpi.
std::optional<Implementation> implementation_needed(const std::vector<std::string>& libraries) {
  for (const std::string_view name : libraries) {
    if (name == "libmpi.so.40") return Implementation::kOpenMpi;
    if (name == "libmpi.so.12" || name == "libmpich.so.12") return Implementation::kMpich;
  }
  return std::nullopt;
}

std::optional<Implementation> built_for(const Files& files, const std::string& path,
                                        size_t limit_bytes) {
  const auto image = files.read(path, limit_bytes);
  return image ? implementation_needed(needed_libraries(*image)) : std::nullopt;
}

bool runs_under(Implementation built_for, Implementation launcher) {
  return (built_for == Implementation::kOpenMpi) == (launcher == Implementation::kOpenMpi);
}

}  // namespace muster::mpi
