// elf_program: the bytes of the smallest program that needs some libraries.
#pragma once

#include <elf.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace muster::testing {

inline std::string elf_program(const std::vector<std::string>& libraries) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  for (const std::string& library : libraries) {
    Elf64_Dyn needed{};
    needed.d_tag = DT_NEEDED;
    needed.d_un.d_val = strings.size();
    entries.push_back(needed);
    strings += library + '\0';
  }
  const size_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const size_t strings_at = dynamic_at + (entries.size() + 2) * sizeof(Elf64_Dyn);
  constexpr uint64_t kLoadedAt = 0x1000;
  Elf64_Dyn table{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = kLoadedAt + strings_at;
  entries.push_back(table);
  entries.push_back({});

  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  file.e_phoff = sizeof(file);
  file.e_phentsize = sizeof(Elf64_Phdr);
  file.e_phnum = 2;
  Elf64_Phdr loaded{};
  loaded.p_type = PT_LOAD;
  loaded.p_vaddr = kLoadedAt;
  loaded.p_filesz = strings_at + strings.size();
  Elf64_Phdr dynamic{};
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_filesz = entries.size() * sizeof(Elf64_Dyn);

  std::string image;
  const auto add = [&image](const auto& part) {
    image.append(reinterpret_cast<const char*>(&part), sizeof(part));
  };
  add(file);
  add(loaded);
  add(dynamic);
  for (const Elf64_Dyn& entry : entries) add(entry);
  return image + strings;
}

}  // namespace muster::testing
