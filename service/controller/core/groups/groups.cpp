#include "service/controller/core/groups/groups.h"

#include <algorithm>
#include <utility>

#include "base/each_once.h"
#include "service/controller/core/options/job_options.h"

namespace pace::controller {

namespace {

// in one line of the log
constexpr size_t kNodesNamedMax = 8;

std::optional<AutoPolicy> auto_of(const JobOptions& options) {
    if (options.policy != Policy::automatic) return std::nullopt;
    return AutoPolicy(options.world);
}

JobOptions with_choice(const JobOptions& options, const std::optional<AutoPolicy>& chosen) {
    if (!chosen) return options;
    return with_shape(options, chosen->shape().policy, chosen->shape().group_size);
}

// Each node once. Members are ordered by rank, not by node.
std::vector<NodeId> nodes_of(const GroupOrder& order) {
    std::vector<NodeId> nodes;
    nodes.reserve(order.members.size());
    for (const Part& part : order.members) nodes.push_back(part.node);
    base::sort_each_once(nodes);
    return nodes;
}

}  // namespace

Groups::Groups(JobId job, const JobOptions& options, uint64_t seed, std::vector<Worker>& workers,
               Cluster& cluster, ZoneOf zone_of)
    : job_(job),
      options_(options),
      zone_of_(std::move(zone_of)),
      seed_(seed),
      auto_(auto_of(options)),
      in_use_(with_choice(options, auto_)),
      policy_(make_policy(in_use_, seed, zone_of_)),
      takes_part_(options.world),
      announcements_(options.world),
      workers_(workers),
      cluster_(cluster),
      history_(cluster.options.recent_groups, in_use_.history_window) {}

void Groups::add_member(Rank rank, TimePoint now) {
    policy_->add_member(rank, workers_[rank].node, now);
    if (!takes_part_[rank]) ++taking_part_;
    takes_part_[rank] = true;
}

void Groups::remove_member(Rank rank) {
    policy_->remove_member(rank);
    if (takes_part_[rank]) --taking_part_;
    takes_part_[rank] = false;
    if (auto_) auto_->forget(rank);
    announcements_.remove(rank);
    workers_[rank].slot = Worker::kNoSlot;
    workers_[rank].computing_since.reset();
    workers_[rank].expected = false;
}

void Groups::freeze(Rank rank) {
    announcements_.remove(rank);
    policy_->freeze(rank);
}

// ----------------------------------------------------------------------------------------- signals

void Groups::on_ready(const From<Ready>& event, const Turn& turn) {
    if (event.stage == ReadyStage::announced) return announced(event, turn);
    announcements_.remove(event.rank);
    if (event.stage == ReadyStage::arrived && arrives(event, turn)) return;
    workers_[event.rank].expected = false;
    signal(event, turn);
}

void Groups::announced(const From<Ready>& event, const Turn& turn) {
    const Worker& worker = workers_[event.rank];
    if (is_busy(event.rank)) return;
    std::optional<TimePoint> due;
    if (const Duration step = worker.steps.median(); step.count() > 0)
        due = announcement_due(worker.computing_since.value_or(turn.now), step);
    announcements_.add(event, due);
}

// Whether the worker's group has been forming, or is formed, since the announcement.
bool Groups::arrives(const From<Ready>& event, const Turn& turn) {
    Worker& worker = workers_[event.rank];
    if (!std::exchange(worker.expected, false) || !is_busy(event.rank)) return false;
    end_step(event.rank, turn.now);
    return true;
}

void Groups::expect_announced(const Turn& turn) {
    From<Ready> announced;
    while (announcements_.take_due(turn.now, announced)) {
        workers_[announced.rank].expected = true;
        signal(announced, turn);
    }
}

void Groups::end_step(Rank rank, TimePoint now) {
    Worker& worker = workers_[rank];
    if (worker.computing_since) {
        const Duration step = now - *worker.computing_since;
        worker.steps.add(step);
        if (auto_) auto_->on_step(rank, step);
    }
    worker.computing_since.reset();
}

void Groups::signal(const From<Ready>& event, const Turn& turn) {
    Worker& worker = workers_[event.rank];
    const Signal signal{event.rank, event.digest, event.iteration, turn.now};
    // The daemon knows better: the announced signal was withdrawn, or was exchanged after all.
    policy_->withdraw(event.rank, turn.now);
    const GroupPolicy::Received received = policy_->add_signal(signal);
    if (received == GroupPolicy::Received::refused) return;
    if (received == GroupPolicy::Received::stray) {
        turn.warn("digest",
                  fmt::format(
                      "job {}: rank {} averages buffers of other types or sizes than most; it will "
                      "average with its own kind only",
                      options_.name, event.rank),
                  {options_.name, event.rank, cluster_.nodes.name_of(event.node)});
    }
    // A daemon announces a worker only after the worker's last exchange. So the report of this
    // exchange is implied, and there was no step.
    if (worker.slot != Worker::kNoSlot) {
        history_.on_member_ended(slots_[worker.slot].group, event.rank, turn.now);
        add_exchange(worker, turn.now);
        worker.computing_since.reset();
    }
    worker.slot = Worker::kNoSlot;
    if (!worker.expected) end_step(event.rank, turn.now);
    worker.iteration = event.iteration;
    ++cluster_.counters.signals;
}

void Groups::on_withdraw(const From<Withdraw>& event, const Turn& turn) {
    const bool announced = announcements_.remove(event.rank);
    workers_[event.rank].expected = false;
    const bool withdrawn = policy_->withdraw(event.rank, turn.now) || announced;
    if (withdrawn && !event.unanswered) turn.tell(event.node, Withdrawn{job_, event.rank});
}

bool Groups::is_busy(Rank rank) const {
    return policy_->is_waiting(rank) || workers_[rank].slot != Worker::kNoSlot;
}

// ---------------------------------------------------------------------------------------- ordering

std::optional<TimePoint> Groups::next_deadline() const {
    if (more_due_since_) return more_due_since_;
    const std::optional<TimePoint> due = announcements_.next_due();
    const std::optional<TimePoint> group = policy_->next_deadline();
    if (!due || !group) return due ? due : group;
    return std::min(*due, *group);
}

void Groups::form(uint64_t epoch, const Turn& turn) {
    expect_announced(turn);
    const uint64_t bridged = policy_->bridged_groups();
    more_due_since_.reset();
    uint32_t formed = 0;
    while (formed < kGroupsPerTurn && policy_->next_group(turn.now, signals_)) {
        broadcast(epoch, turn);
        ++formed;
    }
    if (formed == kGroupsPerTurn) more_due_since_ = turn.now;
    cluster_.counters.bridged_groups += policy_->bridged_groups() - bridged;
    if (auto_ && auto_->is_due(taking_part_)) think_again(turn);
}

// The group broadcaster: sends members in rank order, each with its weight.
void Groups::broadcast(uint64_t epoch, const Turn& turn) {
    std::sort(signals_.begin(), signals_.end(),
              [](const Signal& a, const Signal& b) { return a.rank < b.rank; });
    iterations_.clear();
    for (const Signal& signal : signals_) iterations_.push_back(signal.iteration);
    generate_weights(options_, iterations_, weights_);

    GroupOrder order;
    order.job = job_;
    order.group = cluster_.next_group++;
    order.epoch = epoch;
    order.initial_weight = weights_.initial;
    order.iteration = weights_.iteration;
    order.digest = signals_.front().digest;
    order.members.reserve(signals_.size());
    for (size_t i = 0; i < signals_.size(); ++i) {
        const Rank rank = signals_[i].rank;
        Worker& worker = workers_[rank];
        worker.iteration = weights_.iteration;
        add_wait(signals_[i], turn.now);
        order.members.push_back({rank, worker.node, signals_[i].iteration, weights_.members[i],
                                 relay_zone_of(cluster_, worker.node, zone_of_(worker.node)),
                                 cluster_.nodes.nccl_of(worker.node)});
    }
    put_in_flight(order, turn.now);
    history_.on_ordered(order, signals_, turn.now);
    ++statistics_.ordered;
    ++cluster_.counters.groups;
    std::vector<NodeId> nodes = nodes_of(order);
    turn.tell_each(std::move(nodes), std::move(order));
}

void Groups::add_wait(const Signal& signal, TimePoint now) {
    const Duration waited = now - signal.arrived;
    workers_[signal.rank].waiting.add(waited);
    statistics_.waiting.add(waited);
}

void Groups::put_in_flight(const GroupOrder& order, TimePoint now) {
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    InFlight& flight = slots_[slot];
    flight.group = order.group;
    flight.ordered = now;
    flight.members.clear();
    flight.nodes.clear();
    flight.moving_ns = 0;
    for (const Part& part : order.members) {
        flight.members.push_back({part.rank, part.node});
        workers_[part.rank].slot = slot;
        if (std::find(flight.nodes.begin(), flight.nodes.end(), part.node) == flight.nodes.end()) {
            flight.nodes.push_back(part.node);
        }
    }
    slots_of_.emplace(order.group, slot);
}

// ------------------------------------------------------------------------------------------ ending

void Groups::on_done(const From<GroupDone>& event, const Turn& turn) {
    const auto found = slots_of_.find(event.group);
    if (found == slots_of_.end()) return;  // aborted meanwhile
    const uint32_t slot = found->second;
    auto& nodes = slots_[slot].nodes;
    const auto node = std::find(nodes.begin(), nodes.end(), event.node);
    if (node == nodes.end()) return;
    if (event.failed) {
        const std::string& why = event.reason;
        return abort(slot, event.node,
                     fmt::format("the exchange failed at node '{}': {}",
                                 cluster_.nodes.name_of(event.node), why.empty() ? "?" : why),
                     turn);
    }
    nodes.erase(node);
    slots_[slot].moving_ns = std::max(slots_[slot].moving_ns, event.moving_ns);
    release(slot, event.node, turn.now);
    history_.on_part_done(event.group, event.moving_ns, event.bytes);
    if (nodes.empty()) close(slot, "", turn.now);
}

void Groups::on_node_lost(NodeId node, const std::string& reason, const Turn& turn) {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        const auto& nodes = slots_[slot].nodes;
        if (std::find(nodes.begin(), nodes.end(), node) != nodes.end())
            abort(slot, node, reason, turn);
    }
}

// Without one node's part the others cannot finish. Their daemons announce their members again.
void Groups::abort(uint32_t slot, NodeId culprit, const std::string& reason, const Turn& turn) {
    const InFlight& flight = slots_[slot];
    for (const NodeId node : flight.nodes) {
        release(slot, node, turn.now);
        if (node != culprit) turn.tell(node, GroupAbort{job_, flight.group, reason});
    }
    turn.warn("group-failed",
              fmt::format("job {}: group {} of {}: {}", options_.name, flight.group,
                          names_of(flight.members), reason),
              {.job = options_.name, .node = cluster_.nodes.name_of(culprit)});
    close(slot, reason, turn.now);
}

// The names of the members' nodes.
std::string Groups::names_of(const std::vector<Member>& members) const {
    std::string names;
    std::vector<NodeId> named;
    for (const Member& member : members) {
        if (std::find(named.begin(), named.end(), member.node) != named.end()) continue;
        named.push_back(member.node);
        if (named.size() > kNodesNamedMax) return names + " and others";
        names += fmt::format("{}'{}'", names.empty() ? "nodes " : ", ",
                             cluster_.nodes.name_of(member.node));
    }
    return names;
}

void Groups::release(uint32_t slot, NodeId node, TimePoint now) {
    history_.on_part_ended(slots_[slot].group, node, now);
    for (const Member& member : slots_[slot].members) {
        Worker& worker = workers_[member.rank];
        if (member.node != node || worker.slot != slot) continue;
        add_exchange(worker, now);
        worker.slot = Worker::kNoSlot;
        // A worker that has not arrived still computes.
        if (!std::exchange(worker.expected, false)) worker.computing_since = now;
        policy_->release(member.rank, now);
    }
}

// Ends the exchange in the worker's slot for this worker.
void Groups::add_exchange(Worker& worker, TimePoint now) {
    const Duration exchanged = now - slots_[worker.slot].ordered;
    worker.exchanging.add(exchanged);
    statistics_.exchanging.add(exchanged);
}

void Groups::close(uint32_t slot, std::string_view failure, TimePoint now) {
    const bool failed = !failure.empty();
    InFlight& flight = slots_[slot];
    ++(failed ? statistics_.failed : statistics_.completed);
    if (auto_ && !failed && flight.members.size() > 1 && flight.ordered >= policy_since_)
        auto_->on_exchange(now - flight.ordered, std::chrono::nanoseconds(flight.moving_ns));
    history_.on_ended(flight.group, failure, now);
    slots_of_.erase(flight.group);
    flight.nodes.clear();
    free_slots_.push_back(slot);
}

// ------------------------------------------------------------------------------------- policy auto

void Groups::think_again(const Turn& turn) {
    if (!auto_->evaluate(present(turn.now))) return;
    turn.note("auto",
              fmt::format("job {}: {} {}", options_.name, text_of(auto_->shape()), auto_->reason()),
              {options_.name});
    const JobOptions chosen = with_choice(options_, auto_);
    if (chosen == in_use_) return;
    in_use_ = chosen;
    change_policy(turn.now);
}

std::vector<AutoPolicy::Present> Groups::present(TimePoint now) const {
    std::vector<AutoPolicy::Present> all;
    for (Rank rank = 0; rank < takes_part_.size(); ++rank) {
        if (!takes_part_[rank]) continue;
        const Worker& worker = workers_[rank];
        all.push_back({rank, worker.node,
                       worker.computing_since ? now - *worker.computing_since : Duration{}});
    }
    return all;
}

// A worker that exchanges, or has an order, continues: the new policy regards it as computing until
// its next signal. Waiting workers also wait in the new policy, and keep their waiting time.
void Groups::change_policy(TimePoint now) {
    const std::vector<Signal> waiting = policy_->view().waiting;
    std::unique_ptr<GroupPolicy> next = make_policy(in_use_, seed_ + auto_->switches(), zone_of_);
    for (Rank rank = 0; rank < takes_part_.size(); ++rank) {
        if (!takes_part_[rank]) continue;
        const Duration step = workers_[rank].steps.median();
        if (step.count() > 0) next->know_step(step);
        next->add_member(rank, workers_[rank].node, now);
        if (policy_->is_frozen(rank)) next->freeze(rank);
    }
    for (const Signal& signal : waiting) next->add_signal(signal);
    bridged_before_ += policy_->bridged_groups();
    conflicts_before_ += policy_->conflicts();
    policy_ = std::move(next);
    policy_since_ = now;
    history_.set_window(in_use_.history_window);
    more_due_since_ = now;  // waiting workers may form groups already
}

}  // namespace pace::controller
