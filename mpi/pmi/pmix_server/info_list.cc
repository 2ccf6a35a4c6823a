#include "mpi/pmi/pmix_server/info_list.h"

#include <cstring>

namespace muster::pmix_server {

pmix_info_t& InfoList::add(const char* key, pmix_data_type_t type) {
  pmix_info_t& info = infos_.emplace_back();
  std::memset(&info, 0, sizeof info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = type;
  return info;
}

void InfoList::text(const char* key, std::string_view value) {
  add(key, PMIX_STRING).value.data.string = texts_.emplace_back(value).data();
}

void InfoList::uint32(const char* key, uint32_t value) {
  add(key, PMIX_UINT32).value.data.uint32 = value;
}

void InfoList::uint16(const char* key, uint16_t value) {
  add(key, PMIX_UINT16).value.data.uint16 = value;
}

void InfoList::rank(const char* key, pmix_rank_t value) {
  add(key, PMIX_PROC_RANK).value.data.rank = value;
}

InfoList& InfoList::array(const char* key) {
  add(key, PMIX_DATA_ARRAY);
  arrays_.push_back({infos_.size() - 1, {}});
  return lists_.emplace_back();
}

pmix_info_t* InfoList::data() {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    arrays_[i].header = {.type = PMIX_INFO, .size = lists_[i].size(), .array = lists_[i].data()};
    infos_[arrays_[i].index].value.data.darray = &arrays_[i].header;
  }
  return infos_.data();
}

}  // namespace muster::pmix_server
