#include "service/controller/core/core.h"

#include <algorithm>
#include <utility>

#include "service/controller/core/core_state.h"
#include "service/controller/core/status/status.h"
#include "service/controller/core/status/status_builder.h"

namespace pace::controller {
namespace {

CoreOptions with_defaults(CoreOptions options) {
    const CoreOptions defaults;
    const auto fill = [](auto& value, const auto& otherwise) {
        if (value == std::decay_t<decltype(value)>{}) value = otherwise;
    };
    fill(options.seed, defaults.seed);
    fill(options.liveness_max, defaults.liveness_max);
    fill(options.liveness_min, defaults.liveness_min);
    fill(options.probe_wait, defaults.probe_wait);
    fill(options.stopped_wait, defaults.stopped_wait);
    fill(options.abandoned_keep, defaults.abandoned_keep);
    fill(options.recent_groups, defaults.recent_groups);
    fill(options.unjoined_keep, defaults.unjoined_keep);
    fill(options.limits.jobs, defaults.limits.jobs);
    fill(options.limits.jobs_of_user, defaults.limits.jobs_of_user);
    fill(options.limits.workers, defaults.limits.workers);
    fill(options.limits.workers_of_user, defaults.limits.workers_of_user);
    return options;
}

// Each life of the controller numbers its groups from a random base. So no order is mistaken for
// one of an earlier life, and no number has to be durable. A life has room for 2^32 groups before
// two bases could meet by more than chance.
GroupId first_group(uint64_t token) {
    return ((token >> 33U) << 32U) + 1;
}

}  // namespace

Core::State::State(const CoreOptions& options, uint64_t (*make_token)())
    : cluster(with_defaults(options), make_token), jobs(cluster, make_token) {
    cluster.next_group = first_group(make_token());
    cluster.life = static_cast<uint32_t>(make_token() >> 32U);
}

Core::Core(CoreOptions options, uint64_t (*make_token)())
    : options_(options),
      make_token_(make_token),
      state_(std::make_unique<State>(options, make_token)) {}

Core::~Core() = default;

void Core::handle(const Event& event, TimePoint now, Actions& actions) {
    const Turn turn{now, actions};
    std::visit([&](const auto& e) { state_->on(e, turn); }, event);
}

base::Result<> Core::set_draining(const std::string& node, bool draining, TimePoint now,
                                  Actions& actions) {
    return state_->set_draining(node, draining, Turn{now, actions});
}

base::Result<> Core::delete_job(const std::string& name, TimePoint now, Actions& actions) {
    return state_->jobs.remove(name, {}, Turn{now, actions});
}

std::optional<TimePoint> Core::next_deadline() const {
    std::optional<TimePoint> earliest = state_->cluster.nodes.next_deadline();
    if (const auto cuts = state_->cluster.cuts.next_deadline())
        earliest = std::min(earliest.value_or(*cuts), *cuts);
    for (const auto& [id, job] : state_->jobs.all()) {
        const auto deadline = job->next_deadline();
        if (deadline) earliest = std::min(earliest.value_or(*deadline), *deadline);
    }
    return earliest;
}

base::Result<> Core::replay(std::span<const std::byte> record) {
    PACE_TRY_ASSIGN(decoded, decode(record));
    if (const auto* node = std::get_if<NodeRecord>(&decoded)) {
        if (node->node == 0 || node->node == ~NodeId{0}) {
            return base::make_error(base::ErrorKind::corrupt, "the journal has a node with id {}",
                                    node->node);
        }
        state_->cluster.nodes.restore(node->node, node->name);
        return {};
    }
    if (const auto* drain = std::get_if<DrainRecord>(&decoded)) {
        state_->cluster.nodes.set_draining(drain->node, drain->draining);
        return {};
    }
    return state_->jobs.replay(decoded);
}

void Core::replay_finished(TimePoint now) {
    state_->jobs.begin_life(now);
    for (const auto& [id, job] : state_->jobs.all()) job->replay_finished(now);
}

std::vector<std::vector<std::byte>> Core::journal_snapshot() const {
    std::vector<JournalRecord> records;
    for (const auto& [id, node] : state_->cluster.nodes.nodes())
        records.emplace_back(NodeRecord{id, node.name});
    for (const auto& [id, node] : state_->cluster.nodes.nodes())
        if (node.draining) records.emplace_back(DrainRecord{id, true});
    for (const auto& [id, job] : state_->jobs.all()) job->append_records(records);
    std::vector<std::vector<std::byte>> encoded;
    encoded.reserve(records.size());
    for (const JournalRecord& record : records) encoded.push_back(encode(record));
    return encoded;
}

void Core::begin_anew(TimePoint now) {
    const auto records = journal_snapshot();
    const Counters counters = state_->cluster.counters;
    const EndedJobs ended = state_->jobs.ended();
    state_ = std::make_unique<State>(options_, make_token_);
    state_->cluster.counters = counters;
    state_->jobs.remember(ended);
    // Records written by this life can always be read.
    for (const auto& record : records) (void)replay(record);
    replay_finished(now);
}

StatusView Core::status(TimePoint now) const {
    StatusView view;
    for (const auto& [id, node] : state_->cluster.nodes.nodes())
        view.nodes.push_back(view_of(node, now));
    for (const auto& [id, job] : state_->jobs.all()) {
        view.jobs.push_back(view_of(*job, now));
        view.jobs.back().zones = zones_of(*job, state_->cluster.nodes);
    }
    view.links = links_of(state_->cluster.links);
    view.cuts = cuts_of(state_->cluster.cuts, now);
    view.counters = state_->cluster.counters;
    return view;
}

bool Core::has_job(const std::string& name) const {
    return state_->jobs.has(name);
}

size_t Core::jobs() const {
    return state_->jobs.all().size();
}

const Core::Counters& Core::counters() const {
    return state_->cluster.counters;
}

}  // namespace pace::controller
