#include "daemon/families/serving/push_queue.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

void PushQueue::add(const WorkerPtr& worker, Request request) {
    waiting_[worker->rank].push_back(std::move(request));
    go_on(worker);
}

void PushQueue::go_on(const WorkerPtr& worker) {
    const control::Rank rank = worker->rank;
    if (!standings_.has_view() || job_.view.node_of(rank) != job_.services.self) return;
    std::deque<Request>& requests = waiting_[rank];
    while (!requests.empty() && !taking_.contains(rank) && pushes_.has_room(rank)) {
        const auto request = std::make_shared<const Request>(std::move(requests.front()));
        requests.pop_front();
        taking_[rank] = request;
        worker->times.begin_exchange(base::now());
        const auto at_once = std::make_shared<bool>(true);
        pushes_.take(rank, request, [this, worker, request, at_once](const Result<bool>& taken) {
            took(worker, request, taken);
            if (!*at_once) go_on(worker);
        });
        *at_once = false;
    }
}

void PushQueue::took(const WorkerPtr& worker, const RequestPtr& request,
                     const Result<bool>& taken) {
    const auto taking = taking_.find(worker->rank);
    // The request was ended meanwhile.
    if (taking == taking_.end() || taking->second != request) return;
    taking_.erase(taking);
    if (!taken && taken.error().kind == ErrorKind::aborted) {
        waiting_[worker->rank].push_front(*request);
        worker->times.wait_again(base::now());
        return;
    }
    if (taken) ++worker->calls;
    Ending ending = taken ? Ending{} : failed(taken.error());
    ending.contributors = taken && *taken ? 1 : 0;
    owner_.push_ended(worker, *request, ending);
}

bool PushQueue::cancel(const WorkerPtr& worker, uint64_t id, const Ending& ending) {
    std::deque<Request>& requests = waiting_[worker->rank];
    const auto request = std::find_if(requests.begin(), requests.end(),
                                      [id](const Request& other) { return other.id == id; });
    if (request == requests.end()) return false;
    const Request canceled = std::move(*request);
    requests.erase(request);
    owner_.push_ended(worker, canceled, ending);
    return true;
}

void PushQueue::end_all(const WorkerPtr& worker, const Ending& ending) {
    if (const auto taking = taking_.extract(worker->rank)) {
        // The trainer may change the buffers from now on.
        pushes_.drop_taking(worker->rank);
        owner_.push_ended(worker, *taking.mapped(), ending);
    }
    for (const Request& request : std::exchange(waiting_[worker->rank], {}))
        owner_.push_ended(worker, request, ending);
}

void PushQueue::forget(control::Rank rank) {
    waiting_.erase(rank);
    taking_.erase(rank);
}

uint64_t PushQueue::next_clock(control::Rank rank) const {
    const auto requests = waiting_.find(rank);
    const bool waits = requests != waiting_.end() && !requests->second.empty();
    if (waits) return requests->second.back().iteration + 1;
    const auto taking = taking_.find(rank);
    return taking != taking_.end() ? taking->second->iteration + 1 : pushes_.next_clock(rank);
}

void PushQueue::for_each(
    control::Rank rank,
    const std::function<void(const Request&, const std::string& what)>& visit) const {
    if (const auto taking = taking_.find(rank); taking != taking_.end())
        visit(*taking->second, "its update to be cut into shards here");
    const auto waiting = waiting_.find(rank);
    if (waiting == waiting_.end()) return;
    for (const Request& request : waiting->second)
        visit(request, !standings_.has_view()
                           ? "a view of the job in which nodes keep its model"
                           : fmt::format("its {} pushes before, which wait for {}", Pushes::kWindow,
                                         awaited_by_updates(rank)));
}

std::string PushQueue::awaited_by_updates(control::Rank rank) const {
    const std::vector<NodeId> nodes = pushes_.missing(rank);
    return nodes.empty() ? "the controller to order them"
                         : "a shard's node: " + job_.services.peers.names(nodes);
}

}  // namespace pace::daemon
