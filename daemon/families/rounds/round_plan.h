// Plans of rounds: what one exchange does for a verb of all members, or for a node that missed the
// result of one; and the numbers of these exchanges, which all nodes derive alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/members/job_state.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

// The number of a verb of all members in the job's view.
uint64_t round_number(const JobState& job, uint64_t round);
// The number of what `fetcher` fetches in the job's view.
uint64_t fetch_number(const JobState& job, ExchangeKind kind, NodeId fetcher);
// The number of a part of what top-k has hidden in a result (last_result.h).
uint64_t hidden_number(const JobState& job, NodeId fetcher, uint64_t part);
// All numbers under which messages for this node may still come from the rounds of a view, of which
// it has completed `completed`: those of rounds that others had begun and this node had not, and
// those of results that nobody took here. Others are ahead by at most one round: the one whose
// result this node did not get.
std::vector<uint64_t> numbers_left(const JobState& job, uint64_t epoch, uint64_t completed);

bool is_mean(const Request& request);
// Who takes part in the request's verb, and with which weight.
std::shared_ptr<MemberList> members_of(const View& view, const Request& request);

// The plan of the verb that all these members of this node have called.
Exchange::Plan plan_round(JobState& job, uint64_t round, const std::vector<WorkerPtr>& members);
// Names the memory that also gets a broadcast's result.
void leave_copy(JobState& job, Exchange::Plan& ret_plan, const Request& broadcast);
// The receiving end of what LastResult gives.
Exchange::Plan plan_fetch(const JobState& job, uint64_t round, ExchangeKind kind, NodeId donor,
                          uint32_t check, collectives::Layout layout);

}  // namespace pace::daemon
