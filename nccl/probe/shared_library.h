// SharedLibrary: a library of the image, loaded while the program runs. What is missing, the
// library or a function of it, is a fact for the answer and never a reason to fail.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::probe {

class SharedLibrary {
 public:
  /// The first of `names` that the dynamic linker can load: a path, or a name that it looks for as
  /// for any program (LD_LIBRARY_PATH, its cache). `variables` are put into the environment of this
  /// process before, because libraries read theirs as they are loaded. It is never unloaded.
  /// kConfig: none; the text is the linker's about the last one.
  static Result<SharedLibrary> load(
      std::span<const std::string> names,
      const std::vector<std::pair<std::string, std::string>>& variables = {});

  /// Its file, without links. "" = unknown.
  [[nodiscard]] std::string path() const;
  /// Fills in a pointer to a function; false and null: there is no such function.
  template <typename F>
  bool find(const char* name, F& function) const {
    function = reinterpret_cast<F>(symbol(name));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* symbol(const char* name) const;

  void* handle_;
};

}  // namespace muster::probe
