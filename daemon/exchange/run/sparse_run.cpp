#include "daemon/exchange/run/sparse_run.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace pace::daemon {

using base::Result;
using base::Task;
using transports::PeerId;

SparseRun::~SparseRun() {
    if (flat_) services_.loop.remove_poller(flat_.get());
}

Result<> SparseRun::connect(uint32_t check, NodeId self) {
    if (!is_flat()) return {};
    self_ = self;
    std::vector<std::optional<PeerId>> hosts;
    for (const NodeId host : plan_.hosts) {
        if (host == self) {
            hosts.emplace_back();
            continue;
        }
        PACE_TRY_ASSIGN(peer, services_.peers.peer(host));
        hosts.emplace_back(peer);
    }
    flat_ = std::make_unique<sparse::FlatNode>(services_.transport, std::move(hosts),
                                               services_.aside());
    services_.loop.add_poller(flat_.get());
    collectives::Group group;
    group.exchange = plan_.number;
    group.check = check;
    for (size_t number = 0; number < plan_.hosts.size(); ++number)
        group.nodes.push_back(static_cast<PeerId>(number));
    for (const SparseParticipant& participant : plan_.participants) {
        Local& local = locals_.emplace_back();
        local.number = participant.number;
        group.self = participant.number;
        sparse::FlatTransport& transport =
            flat_->participant(static_cast<PeerId>(participant.number));
        local.communicator = std::make_unique<collectives::Communicator>(transport, group);
        transport.set_peer_lost_handler(
            [raw = local.communicator.get()](PeerId peer, const base::Error& error) {
                raw->peer_lost(peer, error);
            });
    }
    return {};
}

kernels::WorkerPool::Post SparseRun::post() const {
    return services_.loop.poster();
}

Task<Result<>> SparseRun::run(collectives::Communicator& nodes, const collectives::LocalPart& part,
                              double scale, std::span<std::byte> result) {
    if (is_flat()) {
        const Result<> ended = co_await run_flat(part, scale, result);
        co_return ended;
    }
    Result<sparse::Report> report = co_await sparse::sparse_all_reduce(
        nodes, part, scale, result, *plan_.participants.front().state, plan_.options,
        services_.pool, post());
    if (!report) co_return report.error();
    report_ = std::move(*report);
    co_return Result<>();
}

Task<Result<>> SparseRun::run_flat(const collectives::LocalPart& part, double scale,
                                   std::span<std::byte> result) {
    std::vector<Task<Result<>>> runs;
    for (size_t i = 0; i < locals_.size(); ++i) {
        Local& local = locals_[i];
        local.part = std::make_unique<collectives::LocalPart>(
            part.layout(), std::vector<collectives::Member>{part.members()[i]});
        std::span<std::byte> memory = result;
        if (i > 0) {
            const auto own = local.memory.reserve(result.size(), payer_);
            if (!own) {
                abort(own.error());
                co_return own.error();
            }
            memory = *own;
        }
        runs.push_back(run_one(i, scale, memory));
    }
    const std::vector<Result<>> ends = co_await base::when_all(std::move(runs));
    for (const Result<>& end : ends)
        if (!end) co_return end;
    co_return Result<>();
}

Task<Result<>> SparseRun::run_one(size_t index, double scale, std::span<std::byte> result) {
    Local& local = locals_[index];
    Result<sparse::Report> report = co_await sparse::sparse_all_reduce(
        *local.communicator, *local.part, scale, result, *plan_.participants[index].state,
        plan_.options, services_.pool, post());
    if (!report) {
        // The other participants here need not wait for what one of them has lost.
        abort(report.error());
        co_return report.error();
    }
    if (index == 0) report_ = std::move(*report);
    co_return Result<>();
}

// The first participant's result is the exchange's.
bool SparseRun::result_begun() const {
    return !locals_.empty() && locals_.front().communicator->result_begun();
}

void SparseRun::abort(const base::Error& error) {
    for (const Local& local : locals_) local.communicator->abort(error);
}

void SparseRun::peer_lost(PeerId peer, const base::Error& error) {
    if (flat_) flat_->peer_lost(peer, error);
}

base::TimePoint SparseRun::last_progress() const {
    base::TimePoint last{};
    for (const Local& local : locals_) last = std::max(last, local.communicator->last_progress());
    return last;
}

std::vector<NodeId> SparseRun::waiting_for() const {
    std::vector<NodeId> nodes;
    for (const Local& local : locals_)
        for (const size_t number : local.communicator->waiting_for()) {
            const NodeId host = plan_.hosts[number];
            if (host != self_ && std::find(nodes.begin(), nodes.end(), host) == nodes.end())
                nodes.push_back(host);
        }
    return nodes;
}

collectives::Communicator::Counters SparseRun::traffic() const {
    collectives::Communicator::Counters sum;
    for (const Local& local : locals_) {
        const auto& one = local.communicator->counters();
        sum.messages_sent += one.messages_sent;
        sum.messages_received += one.messages_received;
        sum.bytes_sent += one.bytes_sent;
        sum.bytes_received += one.bytes_received;
    }
    return sum;
}

}  // namespace pace::daemon
