#include "launcher/options/entry_kind.h"

#include <string_view>

namespace muster::launcher {

namespace {

bool ends_in_python(std::string_view program) {
  return program.ends_with(".py") || program.ends_with(".pyc") || program.ends_with(".pyz");
}

}  // namespace

EntryKind entry_kind(const RawFlags& raw) {
  if (raw.is_on(flag::kRunPath)) return EntryKind::kRunPath;
  if (raw.is_on(flag::kNoPython)) return EntryKind::kProgram;
  if (raw.is_on(flag::kModule)) return EntryKind::kModule;
  const bool script = raw.dialect != Dialect::kMuster || ends_in_python(raw.program.value_or(""));
  return script ? EntryKind::kScript : EntryKind::kProgram;
}

}  // namespace muster::launcher
