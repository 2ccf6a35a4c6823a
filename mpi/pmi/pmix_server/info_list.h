// InfoList: the attributes that are handed to the PMIx library, which borrows them for the length
// of a call. Built by hand, because the library's own macros call functions of its version.
#pragma once

#include <pmix_common.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace muster::pmix_server {

class InfoList {
 public:
  InfoList() = default;
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;

  /// `key` is a PMIX_ constant, and the value of the type that the standard gives it.
  void text(const char* key, std::string_view value);
  void uint32(const char* key, uint32_t value);
  void uint16(const char* key, uint16_t value);
  void rank(const char* key, pmix_rank_t value);
  /// A list inside of this one, to be filled at once.
  InfoList& array(const char* key);

  /// Valid until something is added.
  [[nodiscard]] pmix_info_t* data();
  [[nodiscard]] size_t size() const { return infos_.size(); }

 private:
  pmix_info_t& add(const char* key, pmix_data_type_t type);

  struct Array {
    size_t index;  // of its entry here
    pmix_data_array_t header;
  };
  std::vector<pmix_info_t> infos_;
  std::deque<std::string> texts_;  // keep their addresses
  std::deque<InfoList> lists_;
  std::deque<Array> arrays_;  // of lists_, in the same order
};

}  // namespace muster::pmix_server
