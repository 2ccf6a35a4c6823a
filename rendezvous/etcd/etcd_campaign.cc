#include "rendezvous/etcd/etcd_campaign.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::rendezvous {

namespace {

// The answer as `read` understands it, or why there is none.
template <typename T>
Result<T> read_as(const Result<HttpResponse>& response, Result<T> (*read)(const HttpResponse&)) {
  if (!response) return Error(response.error());
  return read(*response);
}

}  // namespace

EtcdCampaign::EtcdCampaign(Loop& loop, EtcdClient& client, EtcdKeys keys, EtcdTimes times,
                           std::string value, std::function<void(EtcdCampaignResult)> done)
    : client_(client),
      keys_(std::move(keys)),
      times_(times),
      value_(std::move(value)),
      done_(std::move(done)) {
  office_.since = loop.now();
  client_.call(grant_call(times_.lease), [this](auto response) { on_granted(response); });
}

void EtcdCampaign::on_granted(const Result<HttpResponse>& response) {
  auto lease = read_as(response, read_grant);
  if (!lease) return fail(std::move(lease).error().with_context("lease"));
  office_.lease = lease->id;
  office_.ttl = lease->ttl;
  client_.call(claim_call(keys_.leader, value_, office_.lease, keys_.mark),
               [this](auto answer) { on_claimed(answer); });
}

void EtcdCampaign::on_claimed(const Result<HttpResponse>& response) {
  auto claim = read_as(response, read_claim);
  if (!claim) return fail(std::move(claim).error().with_context("claim"));
  if (!claim->won) {
    give_back(office_.lease);
    return finish(EtcdCampaignResult(std::move(*claim->holder)));
  }
  office_.revision = claim->revision;
  office_.first = !claim->mark;
  if (claim->mark)
    office_.after = std::max<int64_t>(parse_integer(claim->mark->value).value_or(0), 0);
  // A mark without a lease is not ours, but it is there: it gets a lease, and is gone with it.
  if (!claim->mark || claim->mark->lease == 0) return begin_mark();
  office_.mark_lease = claim->mark->lease;
  client_.call(keep_alive_call(office_.mark_lease),
               [this](auto answer) { on_mark_renewed(answer); });
}

void EtcdCampaign::on_mark_renewed(const Result<HttpResponse>& response) {
  const auto ttl = read_as(response, read_keep_alive);
  if (!ttl) return fail(Error(ttl.error()).with_context("mark"));
  if (*ttl >= times_.mark) return leave_mark();
  begin_mark();  // it ended just now, or is that of an agent with a shorter lease
}

void EtcdCampaign::begin_mark() {
  office_.mark_lease = 0;
  client_.call(grant_call(times_.mark), [this](auto answer) { on_mark_granted(answer); });
}

void EtcdCampaign::on_mark_granted(const Result<HttpResponse>& response) {
  auto lease = read_as(response, read_grant);
  if (!lease) return fail(std::move(lease).error().with_context("lease of the mark"));
  office_.mark_lease = lease->id;
  leave_mark();
}

// Before this agent leads: whoever leads next is told that nobody has led in between.
void EtcdCampaign::leave_mark() {
  client_.call(put_call(keys_.mark, std::to_string(office_.revision), office_.mark_lease),
               [this](auto answer) { on_marked(answer); });
}

void EtcdCampaign::on_marked(const Result<HttpResponse>& response) {
  auto put = read_as(response, read_put);
  if (!put) return fail(std::move(put).error().with_context("mark"));
  finish(EtcdCampaignResult(office_));
}

// Nobody waits for it: a lease ends by itself, only later.
void EtcdCampaign::give_back(int64_t lease) {
  if (lease != 0) client_.call(revoke_call(lease), [](auto /*response*/) {});
}

// The mark stays: it may be another leader's, and errs on the safe side.
void EtcdCampaign::fail(Error error) {
  give_back(office_.lease);
  finish(EtcdCampaignResult(std::move(error)));
}

void EtcdCampaign::finish(EtcdCampaignResult result) {
  const auto done = std::exchange(done_, nullptr);
  done(std::move(result));  // `this` may be gone from here on
}

}  // namespace muster::rendezvous
