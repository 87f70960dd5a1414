#include "daemon/exchange/compression.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.h"
#include "daemon/exchange/device_gradient.h"
#include "daemon/exchange/digest.h"
#include "daemon/exchange/top_k_options.h"
#include "daemon/sparse/cost_model.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

size_t elements_of(const std::vector<BufferPtr>& buffers) {
    size_t count = 0;
    for (const BufferPtr& buffer : buffers) count += buffer->count;
    return count;
}

// Of the buffers' lengths, whatever their types: what is owed is kept in f32.
uint32_t counts_digest(const std::vector<BufferPtr>& buffers) {
    uint64_t state = buffers.size();
    for (const BufferPtr& buffer : buffers) state = mix(state, buffer->count);
    return static_cast<uint32_t>(state);
}

// Few ask for it: the loop waits.
Result<> move_here(sparse::Residual& residual) {
    if (!residual.far()) return {};
    sparse::Floats values(residual.count());
    PACE_TRY(residual.read(values.span()));
    residual.move_here(std::move(values));
    return {};
}

}  // namespace

Compression::Compression(JobState& job, std::function<void()> ready)
    : job_(job),
      ready_(std::move(ready)),
      handover_(job, Handover::Events{[this](Debt debt) { inherit(std::move(debt)); },
                                      [this] { give_if_leaving(); }}) {}

void Compression::commit_view(const std::vector<NodeId>& leavers) {
    if (!is_top_k()) return;
    handover_.commit_view(leavers);
    measure_links();
}

void Compression::invalidate(const base::Error& error) {
    handover_.stop(error);
    stop(error);
}

void Compression::stop(const base::Error& error) {
    if (const auto probe = probe_) probe->abort(error);
}

// -------------------------------------------------------------------------------------------- links

bool Compression::needs_links() const {
    const control::JobOptions& options = job_.options;
    const bool chooses_teams =
        options.compression == control::Compression::spardl && options.teams == 0;
    const bool chooses_dense = options.dense_fallback != control::DenseFallback::never;
    return is_top_k() && (chooses_teams || chooses_dense);
}

void Compression::measure_links() {
    if (!needs_links()) return;
    Exchange::Plan plan;
    plan.kind = Exchange::Kind::probe;
    plan.job = job_.id;
    plan.what = "measuring links";
    plan.nodes = job_.view.nodes();
    plan.number = exchange_number(job_.token, ExchangeKind::probe, job_.view.epoch, 0);
    const auto self = std::find(plan.nodes.begin(), plan.nodes.end(), job_.services.self);
    if (plan.nodes.size() <= 1 || self == plan.nodes.end()) {
        measured_epoch_ = job_.view.epoch;
        return;
    }
    plan.self = static_cast<size_t>(self - plan.nodes.begin());
    auto probe = Exchange::start(
        job_.services, std::move(plan), {},
        job_.scope.bind([this, epoch = job_.view.epoch](Exchange& done, const Result<>& result) {
            // One of an earlier view may end when the next has begun.
            if (probe_.get() == &done) probe_.reset();
            if (epoch == job_.view.epoch) measured(result, done.link());
        }));
    if (!probe->ended()) probe_ = std::move(probe);
}

void Compression::measured(const Result<>& result, const sparse::Link& link) {
    if (!result) {
        // No round begins before the links are measured: the next view does. It is on its way if this one was stopped for it.
        if (result.error().kind == ErrorKind::aborted) return;
        base::log_warning("links could not be measured; another view is asked for",
                          {{"job", job_.options.name},
                           {"nodes", job_.services.peers.names(job_.view.nodes())},
                           {"reason", result.error().message}});
        job_.wants_view = true;
        return;
    }
    link_ = link;
    measured_epoch_ = job_.view.epoch;
    base::log_info("links measured",
                   {{"job", job_.options.name},
                    {"latency_us", fmt::format("{:.1f}", link.alpha_s * 1e6)},
                    {"mb_per_s", fmt::format("{:.0f}", 1e-6 / link.beta_s_per_byte)}});
    ready_();
}

// --------------------------------------------------------------------------------------- exchanges

Result<sparse::Options> Compression::options_for(size_t participants, bool all_here) const {
    const control::JobOptions& job = job_.options;
    sparse::Options options = top_k_options(job);
    options.link = link_;
    options.view = job_.view.epoch;
    options.all_reduce = job_.services.options.all_reduce;
    // A view that lacks members has to do with fewer teams; a whole one says that the option is wrong.
    if (job.teams > 1 && !all_here)
        options.teams = teams_for(participants, job.teams, options.gather);
    if (participants > 1) PACE_TRY(sparse::check(options, participants));
    return options;
}

bool Compression::goes_dense(size_t participants, size_t count, const sparse::Options& options) {
    if (participants == 1) return true;
    if (job_.options.dense_fallback == control::DenseFallback::never) return false;
    sparse::Problem problem;
    problem.P = participants;
    problem.n = count;
    problem.k = static_cast<size_t>(options.density * static_cast<double>(count));
    problem.format = options.format;
    problem.residuals = options.residuals;
    const sparse::DenseChoice choice = sparse::should_go_dense(problem, link_);
    if (choice.reason != last_reason_) {
        last_reason_ = choice.reason;
        base::log_info("dense or sparse", {{"job", job_.options.name}, {"reason", choice.reason}});
    }
    return choice.dense;
}

Result<std::shared_ptr<sparse::SparseState>> Compression::state_of(const Key& key, size_t count) {
    std::shared_ptr<sparse::SparseState>& state = states_[key];
    if (!state) {
        try {
            state = std::make_shared<sparse::SparseState>(count);
        } catch (const std::bad_alloc&) {
            return base::make_error(ErrorKind::memory,
                                    "no memory for what a reduction of {} elements leaves out",
                                    count);
        }
    }
    if (state->residual().count() != count)
        return base::make_error(ErrorKind::mismatch,
                                "what is owed has {} elements, but the buffers {}",
                                state->residual().count(), count);
    settle(key, *state);
    return state;
}

// A round's members are held in it, but whoever has just come may ask for what is owed, or give, at any time.
bool Compression::is_free(const sparse::SparseState& state) const {
    return !exchanging_ && !state.residual().begun();
}

void Compression::settle(const Key& key, sparse::SparseState& state) {
    const auto fits = [&](const Debt& debt) {
        return debt.counts == key.counts && debt.values.size() == state.residual().count();
    };
    if (!is_free(state) || std::none_of(inherited_.begin(), inherited_.end(), fits)) return;
    if (!move_here(state.residual())) return;  // they wait
    std::erase_if(inherited_, [&](const Debt& debt) {
        return fits(debt) && state.residual().absorb(debt.values).ok();
    });
}

void Compression::inherit(Debt debt) {
    for (Debt& other : inherited_) {
        if (other.counts != debt.counts || other.values.size() != debt.values.size()) continue;
        for (size_t i = 0; i < debt.values.size(); ++i) other.values[i] += debt.values[i];
        return;
    }
    inherited_.push_back(std::move(debt));
}

Result<> Compression::choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members) {
    const control::Compression compression = job_.options.compression;
    if (compression == control::Compression::f16) plan.half = protocol::DType::f16;
    if (compression == control::Compression::bf16) plan.half = protocol::DType::bf16;
    if (!is_top_k()) return {};
    SparsePlan top_k;
    if (is_flat())
        for (const control::Member& member : job_.view.members) top_k.hosts.push_back(member.node);
    const size_t participants = is_flat() ? top_k.hosts.size() : plan.nodes.size();
    const bool all_here = job_.view.members.size() == job_.options.world;
    const std::vector<BufferPtr>& buffers = members.front()->head().buffers;
    const size_t count = elements_of(buffers);
    PACE_TRY_ASSIGN(options, options_for(participants, all_here));
    if (goes_dense(participants, count, options)) options.algorithm = sparse::Algorithm::dense;
    plan.dense_instead = options.algorithm == sparse::Algorithm::dense;
    top_k.options = options;
    top_k.number = exchange_number(job_.token, ExchangeKind::flat, job_.view.epoch, plan.number);

    const uint32_t counts = counts_digest(buffers);
    if (!is_flat()) {
        // Alone and with nothing owed, the workers' buffers are summed where they lie.
        const bool owes = states_.contains({kNode, counts}) || !inherited_.empty();
        if (participants == 1 && !owes) return {};
        PACE_TRY_ASSIGN(state, state_of({kNode, counts}, count));
        top_k.participants.push_back({plan.self, state});
    } else {
        for (const WorkerPtr& worker : members) {
            PACE_TRY_ASSIGN(state, state_of({worker->rank, counts}, count));
            const auto member = std::find_if(
                job_.view.members.begin(), job_.view.members.end(),
                [&](const control::Member& other) { return other.rank == worker->rank; });
            top_k.participants.push_back(
                {static_cast<size_t>(member - job_.view.members.begin()), state});
        }
    }
    plan.check = static_cast<uint32_t>(mix(plan.check, static_cast<uint64_t>(options.algorithm)));
    plan.top_k = std::make_shared<SparsePlan>(std::move(top_k));
    exchanging_ = true;
    return {};
}

void Compression::committed(const Exchange& exchange) {
    if (exchange.plan().dense_instead && is_top_k()) ++job_.services.counters.rounds_dense_instead;
    if (!exchange.plan().top_k) return;
    for (const SparseParticipant& participant : exchange.plan().top_k->participants)
        participant.state->commit();
}

// ------------------------------------------------------------------------------- what is owed, by hand

Result<> Compression::save(const Worker& worker) {
    const std::vector<BufferPtr>& buffers = worker.head().buffers;
    // The first of the node's workers speaks for the node.
    const bool speaks = is_flat() || job_.workers.begin()->first == worker.rank;
    sparse::Floats copied;
    const float* next = nullptr;
    if (speaks) {
        PACE_TRY_ASSIGN(state,
                        state_of({owner_of(worker), counts_digest(buffers)}, elements_of(buffers)));
        const sparse::Residual& residual = state->residual();
        if (residual.far()) {
            copied = sparse::Floats(residual.count());
            PACE_TRY(residual.read(copied.span()));
        }
        next = residual.far() ? copied.data() : residual.values().data();
    }
    for (const BufferPtr& buffer : buffers) {
        if (next == nullptr) {
            std::memset(buffer->memory.data(), 0, buffer->bytes());
            continue;
        }
        std::memcpy(buffer->memory.data(), next, buffer->bytes());
        next += buffer->count;
    }
    return {};
}

Result<> Compression::load(const Worker& worker) {
    const std::vector<BufferPtr>& buffers = worker.head().buffers;
    const size_t count = elements_of(buffers);
    PACE_TRY_ASSIGN(state, state_of({owner_of(worker), counts_digest(buffers)}, count));
    std::vector<float> values;
    values.reserve(count);
    for (const BufferPtr& buffer : buffers) {
        const auto* data = reinterpret_cast<const float*>(buffer->memory.data());
        values.insert(values.end(), data, data + buffer->count);
    }
    if (!is_free(*state))
        return base::make_error(ErrorKind::invalid,
                                "a reduction works on what is owed; load it before the first one, "
                                "or when this one has ended");
    PACE_TRY(move_here(state->residual()));
    return state->residual().absorb(values);
}

void Compression::departed(const Worker& worker) {
    if (is_top_k()) departed_.push_back(worker.rank);
}

bool Compression::is_open() const {
    return std::any_of(states_.begin(), states_.end(),
                       [](const auto& entry) { return entry.second->residual().begun(); });
}

bool Compression::owes() const {
    if (handover_.is_leaving()) return false;
    return !states_.empty() || !inherited_.empty() || handover_.is_taking();
}

void Compression::exchange_ended() {
    if (is_open()) return;
    if (!job_.workers.empty()) {
        const std::vector<control::Rank> departed = std::exchange(departed_, {});
        for (const control::Rank owner : departed)
            if (is_flat() && !job_.workers.contains(owner)) bequeath(owner);
    }
    give_if_leaving();
}

void Compression::discard() {
    for (const auto& [key, state] : states_) state->discard();
}

void Compression::conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                           std::span<const std::byte> hidden_untrusted) {
    for (const auto& [key, state] : states_) {
        if (!state->residual().begun()) continue;
        if (const auto concluded = state->conclude(layout, result, hidden_untrusted); concluded) {
            state->commit();
        } else {
            base::log_error("what is owed may be wrong",
                            {{"job", job_.options.name}, {"reason", concluded.error().message}});
            state->discard();
        }
    }
}

Debt Compression::debt_of(const Key& key, const sparse::SparseState& state) {
    Debt debt{key.counts, std::vector<float>(state.residual().count())};
    read_owed(state.residual(), debt.values);
    return debt;
}

// Its debts go to the first worker that stays.
void Compression::bequeath(control::Rank owner) {
    for (const auto& [key, state] : states_)
        if (key.owner == owner) inherit(debt_of(key, *state));
    std::erase_if(states_, [owner](const auto& entry) { return entry.first.owner == owner; });
}

void Compression::give_if_leaving() {
    if (!handover_.is_leaving() || handover_.is_taking() || is_open()) return;
    departed_.clear();
    for (const auto& [key, state] : states_) inherit(debt_of(key, *state));
    states_.clear();
    handover_.give(std::exchange(inherited_, {}));
}

}  // namespace pace::daemon
