#include "daemon/families/rounds/compression.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "base/log.h"
#include "base/training_events.h"
#include "daemon/families/rounds/top_k_options.h"
#include "daemon/gpu/device_gradient.h"
#include "daemon/members/model_range.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/runtime/mix.h"
#include "daemon/sparse/cost_model.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// The link for which teams, and dense or sparse, are chosen where the job does not name them. It is
// not measured: the order of a sum must follow from what all nodes know, and be the same on a rerun
// (docs/decisions/0031).
constexpr sparse::Link kNominalLink{};
// Residuals of one owner. A guess: many more than the tensors of a model have lengths.
constexpr size_t kSetsMax = 1024;
// The residual, and the vector that the next exchange works on.
constexpr uint64_t kBytesPerElement = 2 * sizeof(float);
constexpr uint64_t kElementsChargedMax = UINT64_MAX / kBytesPerElement;

size_t elements_of(const std::vector<BufferPtr>& buffers) {
    size_t count = 0;
    for (const BufferPtr& buffer : buffers) count += buffer->count;
    return count;
}

// Digest of the buffers' lengths, whatever their types: residuals are kept in f32.
uint32_t counts_digest(const std::vector<BufferPtr>& buffers) {
    uint64_t state = buffers.size();
    for (const BufferPtr& buffer : buffers) state = mix(state, buffer->count);
    return static_cast<uint32_t>(state);
}

constexpr size_t kOwedPiece = kernels::Aside::kGrainBytes / sizeof(float);

// Moves a residual to the host. Few callers need this, so the loop waits.
Result<> move_here(sparse::Residual& residual) {
    if (!residual.far()) return {};
    sparse::Floats values(residual.count());
    PACE_TRY(residual.read(values.span()));
    residual.move_here(std::move(values));
    return {};
}

}  // namespace

Compression::Compression(JobState& job, RoundPort& port)
    : job_(job),
      port_(port),
      strand_(job.services.aside()),
      handover_(job, Handover::Events{[this](Debt debt) { inherit(std::move(debt)); },
                                      [this] { give_if_leaving(); }}) {}

void Compression::commit_view(const std::vector<NodeId>& leavers) {
    if (!is_top_k()) return;
    handover_.commit_view(leavers);
}

void Compression::invalidate(const base::Error& error) {
    handover_.stop(error);
}

// --------------------------------------------------------------------------------------- exchanges

Result<sparse::Options> Compression::options_for(size_t participants, bool all_here) const {
    const control::JobOptions& job = job_.options;
    sparse::Options options = top_k_options(job);
    options.link = kNominalLink;
    options.view = job_.view.epoch;
    options.all_reduce = job_.services.options.all_reduce;
    // A view without all members has to do with fewer teams; with all members, an unfit option is
    // an error.
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
    const sparse::DenseChoice choice = sparse::should_go_dense(problem, kNominalLink);
    if (choice.reason != last_reason_) {
        last_reason_ = choice.reason;
        base::log_info("dense or sparse", {{"job", job_.options.name}, {"reason", choice.reason}});
    }
    return choice.dense;
}

// Charges all memory of the state before it is made, including what an exchange works on.
Result<std::shared_ptr<sparse::SparseState>> Compression::new_state(const Key& key,
                                                                    size_t count) const {
    const auto kept = std::distance(states_.lower_bound({key.owner, 0}),
                                    states_.upper_bound({key.owner, UINT32_MAX}));
    if (static_cast<size_t>(kept) >= kSetsMax)
        return base::make_error(ErrorKind::limit,
                                "something is owed of {} sets of buffers already, each of other "
                                "lengths; reduce, save and load the same buffers together",
                                kept);
    struct Owed {
        Owed(size_t elements, Charge paid) : state(elements), charge(std::move(paid)) {}
        sparse::SparseState state;
        Charge charge;
    };
    const uint64_t bytes = count > kElementsChargedMax ? UINT64_MAX : count * kBytesPerElement;
    PACE_TRY_ASSIGN(charge, job_.payer().charge(bytes, "what top-k leaves out"));
    std::shared_ptr<Owed> owed;
    if (!base::attempt([&] { owed = std::make_shared<Owed>(count, std::move(charge)); }))
        return base::make_error(ErrorKind::memory,
                                "no memory for what a reduction of {} elements leaves out", count);
    return std::shared_ptr<sparse::SparseState>(owed, &owed->state);
}

Result<std::shared_ptr<sparse::SparseState>> Compression::state_of(const Key& key, size_t count) {
    auto found = states_.find(key);
    if (found == states_.end()) {
        PACE_TRY_ASSIGN(made, new_state(key, count));
        found = states_.emplace(key, std::move(made)).first;
    }
    const std::shared_ptr<sparse::SparseState>& state = found->second;
    if (state->residual().count() != count)
        return base::make_error(ErrorKind::mismatch,
                                "what is owed has {} elements, but the buffers {}",
                                state->residual().count(), count);
    settle(key, state);
    return state;
}

// Members are blocked in a round, but a worker that has just come may save or load its residual at
// any time.
bool Compression::is_free(const sparse::SparseState& state) const {
    return !exchanging_ && !state.residual().begun();
}

void Compression::settle(const Key& key, const std::shared_ptr<sparse::SparseState>& state) {
    const auto fits = [&](const Debt& debt) {
        return debt.counts == key.counts && debt.values.size() == state->residual().count();
    };
    if (!is_free(*state) || std::none_of(inherited_.begin(), inherited_.end(), fits)) return;
    if (!move_here(state->residual())) return;  // the residuals wait
    for (const Debt& debt : inherited_) {
        if (!fits(debt)) continue;
        state->residual().begin_to_keep();
        work(debt.values.size(), [state, debt](size_t begin, size_t end) {
            state->residual().add(begin, debt.values.subspan(begin, end - begin));
        });
    }
    std::erase_if(inherited_, fits);
}

void Compression::inherit(Debt debt) {
    for (const Debt& other : inherited_) {
        if (other.counts != debt.counts || other.values.size() != debt.values.size()) continue;
        work(debt.values.size(), [other, debt](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) other.values[i] += debt.values[i];
        });
        return;
    }
    inherited_.push_back(std::move(debt));
}

void Compression::work(size_t count, kernels::WorkerPool::Work work, kernels::Strand::Done done) {
    strand_.run(2 * count * sizeof(float), count, kOwedPiece, std::move(work), std::move(done));
    await_strand();
}

void Compression::await_strand() {
    if (awaits_strand_ || strand_.is_idle()) return;
    awaits_strand_ = true;
    strand_.then([this] {
        awaits_strand_ = false;
        await_strand();  // more work was added meanwhile
        if (awaits_strand_) return;
        exchange_ended();
        port_.try_start();
    });
}

Result<bool> Compression::choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members) {
    plan.half = half_of(job_.options.compression);
    if (!is_top_k()) return true;
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
        // Alone and without a residual, the workers' buffers are summed where they are.
        const bool owes = states_.contains({kNode, counts}) || !inherited_.empty();
        if (participants == 1 && !owes) return true;
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
    // An inherited residual is still being added.
    if (!strand_.is_idle()) return false;
    plan.check = static_cast<uint32_t>(mix(plan.check, static_cast<uint64_t>(options.algorithm)));
    plan.top_k = std::make_shared<SparsePlan>(std::move(top_k));
    exchanging_ = true;
    return true;
}

void Compression::committed(const Exchange& exchange) {
    if (exchange.plan().dense_instead && is_top_k()) ++job_.services.counters.rounds_dense_instead;
    if (!exchange.plan().top_k) return;
    for (const SparseParticipant& participant : exchange.plan().top_k->participants)
        participant.state->commit();
}

// --------------------------------------------------------------------- residuals, saved and loaded

void Compression::save(const WorkerPtr& worker, const Done& done) {
    const Request& request = worker->head();
    const size_t count = elements_of(request.buffers);
    // The first of the node's workers speaks for the node.
    const bool speaks = is_flat() || is_first_here(*worker);
    std::shared_ptr<const float> owed;
    if (speaks) {
        auto found = state_of({owner_of(*worker), counts_digest(request.buffers)}, count);
        if (!found) return done(found.error());
        const sparse::Residual& residual = (*found)->residual();
        if (residual.far()) {
            const sparse::Floats copied(count);
            if (const auto read = residual.read(copied.span()); !read) return done(read.error());
            owed = copied.share();
        } else {
            owed = residual.share();
        }
    }
    // An exchange may be under way, without a worker that has just come. The exchange changes the
    // next residual and at most moves this one to a GPU; the next exchange waits for the strand.
    const auto write = [owed, buffers = request.buffers](size_t begin, size_t end) {
        static constexpr std::array<float, kOwedPiece> kNothing{};
        const float* const from = owed ? owed.get() + begin : kNothing.data();
        write_range(buffers, begin, {from, end - begin});
    };
    const auto written = [mark = request.mark, done](const Result<>& result) {
        if (result) tell_whole(mark);
        done(result);
    };
    tell_writing(request.mark);
    work(count, write, written);
}

void Compression::load(const WorkerPtr& worker, const Done& done) {
    const std::vector<BufferPtr>& buffers = worker->head().buffers;
    const size_t count = elements_of(buffers);
    const auto found = state_of({owner_of(*worker), counts_digest(buffers)}, count);
    if (!found) return done(found.error());
    const std::shared_ptr<sparse::SparseState>& state = *found;
    if (!is_free(*state))
        return done(base::make_error(ErrorKind::invalid,
                                     "a reduction works on what is owed; load it before the first "
                                     "one, or when this one has ended"));
    if (const auto here = move_here(state->residual()); !here) return done(here.error());
    state->residual().begin_to_keep();
    work(
        count,
        [state, buffers](size_t begin, size_t end) {
            std::array<float, kOwedPiece> piece;
            const std::span<float> given = std::span(piece).first(end - begin);
            read_range(buffers, begin, given);
            state->residual().add(begin, given);
        },
        done);
}

void Compression::departed(const Worker& worker) {
    if (is_top_k()) departed_.push_back(worker.rank);
}

void Compression::exchange_ended() {
    if (exchanging_ || is_open()) return;
    if (!strand_.is_idle()) return;  // this is called again when the strand is idle
    if (!job_.workers.empty()) {
        const std::vector<control::Rank> departed = std::exchange(departed_, {});
        for (const control::Rank owner : departed)
            if (is_flat() && !job_.workers.contains(owner)) bequeath(owner);
    }
    give_if_leaving();
}

void Compression::discard() {
    for (const auto& [key, state] : states_)
        if (state->residual().begun()) state->discard();
}

void Compression::conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                           std::span<const std::byte> hidden_untrusted) {
    for (const auto& [key, state] : states_) {
        if (!state->residual().begun()) continue;
        if (const auto concluded = state->conclude(layout, result, hidden_untrusted); concluded) {
            state->commit();
        } else {
            base::log_event(base::events::kResidualDoubtful,
                            {{"job", job_.options.name}, {"reason", concluded.error().message}});
            state->discard();
        }
    }
}

Debt Compression::debt_of(const Key& key, sparse::SparseState& state) const {
    sparse::Residual& residual = state.residual();
    sparse::Floats owed;
    if (residual.far()) {
        owed = sparse::Floats(residual.count());
        read_owed(residual, owed.span());
    } else {
        owed = residual.give_up();
    }
    struct Paid {
        sparse::Floats values;
        Charge charge;
    };
    Charge charge = job_.payer().count(owed.span().size_bytes());
    const auto paid = std::make_shared<const Paid>(Paid{std::move(owed), std::move(charge)});
    return {key.counts, paid->values.span(), paid};
}

// The owner's residuals go to the first worker that stays.
void Compression::bequeath(control::Rank owner) {
    for (const auto& [key, state] : states_)
        if (key.owner == owner) inherit(debt_of(key, *state));
    std::erase_if(states_, [owner](const auto& entry) { return entry.first.owner == owner; });
}

void Compression::give_if_leaving() {
    if (!handover_.is_leaving() || handover_.is_taking() || is_open()) return;
    if (!strand_.is_idle()) return;  // this is called again when the strand is idle
    departed_.clear();
    for (const auto& [key, state] : states_) inherit(debt_of(key, *state));
    states_.clear();
    if (!strand_.is_idle()) return;
    handover_.give(std::exchange(inherited_, {}));
}

}  // namespace pace::daemon
