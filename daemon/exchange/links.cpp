#include "daemon/exchange/links.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/exchange/link_ping.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// One side of a measurement. Lives until its last operation has ended, however long after an
// abort().
struct LinkExchange {
    LinkExchange(transports::Transport& transport, uint32_t of_job, collectives::Group group)
        : job(of_job), communicator(transport, std::move(group)) {}

    uint32_t job;
    collectives::Communicator communicator;
    base::Timer limit;  // of its time
};

using LinkExchangePtr = std::shared_ptr<LinkExchange>;

void stop(const LinkExchangePtr& exchange) {
    if (exchange)
        exchange->communicator.abort(
            base::make_error(ErrorKind::aborted, "the link is not measured any more"));
}

// The first series has the number by which nodes of the previous release know it.
uint64_t number_of(const Links::View& view, NodeId lower, NodeId higher, uint32_t series) {
    constexpr uint64_t kSpread = 0x9E3779B97F4A7C15U;
    return exchange_number(view.token, ExchangeKind::link, view.epoch,
                           (uint64_t{lower} << 32U | higher) ^ (series * kSpread));
}

// The nodes near `self` in the view's order, which is a ring.
std::set<NodeId> neighbours(const std::vector<NodeId>& nodes, NodeId self) {
    std::set<NodeId> found;
    const auto place = std::find(nodes.begin(), nodes.end(), self);
    if (place == nodes.end()) return found;
    const auto own = static_cast<size_t>(place - nodes.begin());
    const size_t reach = std::min(Links::kNeighboursEachWay, nodes.size() - 1);
    for (size_t step = 1; step <= reach; ++step) {
        found.insert(nodes[(own + step) % nodes.size()]);
        found.insert(nodes[(own + nodes.size() - step) % nodes.size()]);
    }
    return found;
}

}  // namespace

struct Links::State : public std::enable_shared_from_this<Links::State> {
    State(Services& all_services, LinksOptions given) : services(all_services), options(given) {}

    struct Ping {
        View view;
        NodeId node = 0;
        uint32_t series = 0;
        base::TimePoint from;
        base::TimePoint until;
    };

    void commit(const View& view);
    void leave_view(uint32_t job);
    LinkExchangePtr open(uint32_t job, uint64_t number, NodeId node, size_t self);
    void answer(const View& view, NodeId node, uint32_t series);
    bool is_over(const Ping& ping) const;
    bool is_measured(NodeId node) const {
        const auto found = measured.find(node);
        return found != measured.end() && found->second.report;
    }
    void look_later();
    void look();
    void ping(const Ping& ping);
    void pinged(const LinkExchangePtr& exchange, const Ping& ping, const Result<LinkTrips>& trips);
    void take(NodeId node, const LinkTrips& trips);
    void give_up(const LinkExchangePtr& exchange);
    void stop_all();

    Services& services;
    LinksOptions options;
    std::deque<Ping> to_ping;
    LinkExchangePtr pinging;
    NodeId pinged_node = 0;
    std::map<std::pair<NodeId, uint32_t>, LinkExchangePtr> answering;  // by node, and job
    struct Measured {
        LinkTrips trips;
        std::optional<control::LinkReport> report;  // none: the trips make no sense
    };
    std::map<NodeId, Measured> measured;
    std::vector<NodeId> untold;
    base::Timer next_look;
};

// ------------------------------------------------------------------------------------------- views

void Links::State::commit(const View& view) {
    leave_view(view.job);
    const View named{// Without the view's nodes, of which there may be many.
                     view.job,
                     view.token,
                     view.epoch,
                     {}};
    for (const NodeId node : neighbours(view.nodes, services.self)) {
        if (node == services.self) continue;
        if (node < services.self) {
            answer(named, node, 0);
        } else if (!is_measured(node)) {
            const base::TimePoint now = base::now();
            to_ping.push_back({named, node, 0, now, now + options.ping_within});
        }
    }
    look_later();
}

void Links::State::leave_view(uint32_t job) {
    std::erase_if(to_ping, [job](const Ping& ping) { return ping.view.job == job; });
    for (auto it = answering.begin(); it != answering.end();) {
        const LinkExchangePtr exchange = it->second;
        const bool is_left = it->first.second == job;
        it = is_left ? answering.erase(it) : std::next(it);
        if (is_left) stop(exchange);
    }
    if (pinging && pinging->job == job) stop(std::exchange(pinging, nullptr));
}

LinkExchangePtr Links::State::open(uint32_t job, uint64_t number, NodeId node, size_t self) {
    const auto peer = services.peers.peer(node);
    if (!peer) return nullptr;
    collectives::Group group;
    group.exchange = number;
    group.nodes = {*peer, *peer};
    group.self = self;
    return std::make_shared<LinkExchange>(services.transport, job, std::move(group));
}

// --------------------------------------------------------------------------------- the higher node

// Answers for each job's view: the same node may be in views of several jobs, and pings in one.
void Links::State::answer(const View& view, NodeId node, uint32_t series) {
    const LinkExchangePtr exchange =
        open(view.job, number_of(view, node, services.self, series), node, 1);
    if (!exchange) return;
    const auto key = std::pair(node, view.job);
    answering[key] = exchange;
    base::spawn<Result<>>(
        answer_pings(exchange->communicator),
        [weak = weak_from_this(), exchange, view, node, series, key](const Result<>& answered) {
            const auto state = weak.lock();
            if (!state) return;
            const auto own = state->answering.find(key);
            if (own == state->answering.end() || own->second != exchange) return;
            state->answering.erase(own);
            if (answered && series + 1 < state->options.series)
                state->answer(view, node, series + 1);
        });
    exchange->limit = services.loop.run_after(
        options.answer_within, [weak = std::weak_ptr(exchange)] { stop(weak.lock()); });
}

// ---------------------------------------------------------------------------------- the lower node

void Links::State::look_later() {
    if (next_look.pending() || pinging || to_ping.empty()) return;
    next_look = services.loop.run_after(options.look_every, [weak = weak_from_this()] {
        if (const auto state = weak.lock()) state->look();
    });
}

// Nobody needs the ping any more. This includes a first series if another job's view has had the
// node pinged meanwhile.
bool Links::State::is_over(const Ping& ping) const {
    return base::now() >= ping.until || (ping.series == 0 && is_measured(ping.node));
}

void Links::State::look() {
    std::erase_if(to_ping, [this](const Ping& ping) { return is_over(ping); });
    const auto due = std::find_if(to_ping.begin(), to_ping.end(),
                                  [](const Ping& ping) { return base::now() >= ping.from; });
    if (!pinging && due != to_ping.end() && !services.active.any()) {
        const Ping next = *due;
        to_ping.erase(due);
        ping(next);
    }
    look_later();
}

void Links::State::ping(const Ping& ping) {
    const uint64_t number = number_of(ping.view, services.self, ping.node, ping.series);
    const LinkExchangePtr exchange = open(ping.view.job, number, ping.node, 0);
    if (!exchange) return;
    pinging = exchange;
    pinged_node = ping.node;
    base::spawn<Result<LinkTrips>>(
        ping_link(exchange->communicator),
        [weak = weak_from_this(), exchange, ping](const Result<LinkTrips>& trips) {
            if (const auto state = weak.lock()) state->pinged(exchange, ping, trips);
        });
    exchange->limit = services.loop.run_after(
        options.ping_max, [weak = weak_from_this(), late = std::weak_ptr(exchange)] {
            const auto state = weak.lock();
            if (state) state->give_up(late.lock());
        });
}

void Links::State::pinged(const LinkExchangePtr& exchange, const Ping& ping,
                          const Result<LinkTrips>& trips) {
    if (pinging != exchange) return;  // if only this node lacks the result
    pinging.reset();
    if (trips) take(ping.node, *trips);
    if (trips && ping.series + 1 < options.series) {
        const base::TimePoint from = base::now() + options.series_apart;
        to_ping.push_back(
            {ping.view, ping.node, ping.series + 1, from, from + options.ping_within});
    }
    look();
}

// Takes the trips into account. The controller is told of the result, if that is news.
void Links::State::take(NodeId node, const LinkTrips& trips) {
    const auto [entry, is_first] = measured.try_emplace(node, Measured{trips, {}});
    Measured& known = entry->second;
    known.trips = known.trips.best_with(trips);
    const auto times = known.trips.times();
    const auto before = std::exchange(known.report, std::nullopt);
    if (times) known.report = control::LinkReport{node, times->latency_ns, times->ns_per_byte};
    if (known.report && known.report != before &&
        std::find(untold.begin(), untold.end(), node) == untold.end())
        untold.push_back(node);
}

// Messages that are being sent end when they do; the next ping need not wait for that.
void Links::State::give_up(const LinkExchangePtr& exchange) {
    if (!exchange || pinging != exchange) return;
    pinging.reset();
    stop(exchange);
    look_later();
}

void Links::State::stop_all() {
    to_ping.clear();
    stop(std::exchange(pinging, nullptr));
    for (const auto& [key, exchange] : std::exchange(answering, {})) stop(exchange);
}

// ------------------------------------------------------------------------------------------- Links

Links::Links(Services& services, LinksOptions options)
    : state_(std::make_shared<State>(services, options)) {}

Links::~Links() {
    state_->stop_all();
}

void Links::commit(const View& view) {
    state_->commit(view);
}

void Links::forget(NodeId node) {
    State& state = *state_;
    state.measured.erase(node);
    std::erase(state.untold, node);
    std::erase_if(state.to_ping, [node](const State::Ping& ping) { return ping.node == node; });
    if (state.pinging && state.pinged_node == node) state.give_up(state.pinging);
    for (auto it = state.answering.lower_bound({node, 0});
         it != state.answering.end() && it->first.first == node;) {
        const LinkExchangePtr exchange = it->second;
        it = state.answering.erase(it);
        stop(exchange);
    }
}

void Links::forget_all() {
    state_->stop_all();
    state_->measured.clear();
    state_->untold.clear();
}

void Links::attached() {
    state_->untold.clear();
    for (const auto& [node, measured] : state_->measured)
        if (measured.report) state_->untold.push_back(node);
}

void Links::report(std::vector<control::LinkReport>& ret_reports) {
    for (const NodeId node : std::exchange(state_->untold, {}))
        if (const auto& report = state_->measured.at(node).report) ret_reports.push_back(*report);
}

}  // namespace pace::daemon
