// EtcdCampaign: one try to become the leader through etcd: a lease, the leader's key with it unless
// somebody has that key, then the job's mark. A conversation of three to four requests; it ends
// with an office, with the name of who was there first, or with an error.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "base/loop.h"
#include "rendezvous/etcd/etcd_client.h"
#include "rendezvous/etcd/etcd_election.h"

namespace muster::rendezvous {

/// Won, or the entry that was there.
using EtcdCampaignResult = Result<std::variant<EtcdOffice, EtcdEntry>>;

class EtcdCampaign {
 public:
  /// Begins. `loop` and `client` are borrowed; `value`: of the leader's key. `done` is called once
  /// and never before the constructor returns; it may destroy this object. Destroying it earlier
  /// needs client.cancel_all() first. What was got is given back when it does not win.
  EtcdCampaign(Loop& loop, EtcdClient& client, EtcdKeys keys, EtcdTimes times, std::string value,
               std::function<void(EtcdCampaignResult)> done);
  EtcdCampaign(const EtcdCampaign&) = delete;
  EtcdCampaign& operator=(const EtcdCampaign&) = delete;

  /// With which the key is claimed, for who gives up meanwhile; 0 = none was granted yet.
  [[nodiscard]] int64_t lease() const { return office_.lease; }

 private:
  void on_granted(const Result<HttpResponse>& response);
  void on_claimed(const Result<HttpResponse>& response);
  void on_mark_renewed(const Result<HttpResponse>& response);
  void begin_mark();
  void leave_mark();
  void on_mark_granted(const Result<HttpResponse>& response);
  void on_marked(const Result<HttpResponse>& response);
  void give_back(int64_t lease);
  void fail(Error error);
  void finish(EtcdCampaignResult result);

  EtcdClient& client_;
  const EtcdKeys keys_;
  const EtcdTimes times_;
  const std::string value_;
  std::function<void(EtcdCampaignResult)> done_;
  EtcdOffice office_;
};

}  // namespace muster::rendezvous
