#include "daemon/families/rounds/residuals.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/attempt.h"
#include "base/log/training_events.h"
#include "daemon/gpu/device_gradient.h"
#include "daemon/members/model_range.h"
#include "daemon/runtime/mix.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// Residuals of one owner. A guess: many more than the tensors of a model have lengths.
constexpr size_t kSetsMax = 1024;
// The residual, and the vector that the next exchange works on.
constexpr uint64_t kBytesPerElement = 2 * sizeof(float);
constexpr uint64_t kElementsChargedMax = UINT64_MAX / kBytesPerElement;

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

size_t elements_of(const std::vector<BufferPtr>& buffers) {
    size_t count = 0;
    for (const BufferPtr& buffer : buffers) count += buffer->count;
    return count;
}

Residuals::Residuals(JobState& job, RoundPort& port)
    : job_(job),
      port_(port),
      strand_(job.services.aside()),
      handover_(job, Handover::Events{[this](Debt debt) { inherit(std::move(debt)); },
                                      [this] { give_if_leaving(); }}) {}

// Charges all memory of the state before it is made, including what an exchange works on.
Result<std::shared_ptr<sparse::SparseState>> Residuals::new_state(const Key& key,
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

Result<std::shared_ptr<sparse::SparseState>> Residuals::state_of(
    control::Rank owner, const std::vector<BufferPtr>& buffers) {
    const Key key{owner, counts_digest(buffers)};
    const size_t count = elements_of(buffers);
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
bool Residuals::is_free(const sparse::SparseState& state) const {
    return !lent_ && !state.residual().begun();
}

void Residuals::settle(const Key& key, const std::shared_ptr<sparse::SparseState>& state) {
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

void Residuals::inherit(Debt debt) {
    for (const Debt& other : inherited_) {
        if (other.counts != debt.counts || other.values.size() != debt.values.size()) continue;
        work(debt.values.size(), [other, debt](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) other.values[i] += debt.values[i];
        });
        return;
    }
    inherited_.push_back(std::move(debt));
}

void Residuals::work(size_t count, kernels::WorkerPool::Work work, kernels::Strand::Done done) {
    strand_.run(2 * count * sizeof(float), count, kOwedPiece, std::move(work), std::move(done));
    await_strand();
}

void Residuals::await_strand() {
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

// --------------------------------------------------------------------------------------- exchanges

bool Residuals::has(control::Rank owner, const std::vector<BufferPtr>& buffers) const {
    return states_.contains({owner, counts_digest(buffers)}) || !inherited_.empty();
}

void Residuals::exchange_ended() {
    if (lent_ || is_open()) return;
    if (!strand_.is_idle()) return;  // this is called again when the strand is idle
    if (!job_.workers.empty()) {
        const std::vector<control::Rank> departed = std::exchange(departed_, {});
        for (const control::Rank owner : departed)
            if (is_flat() && !job_.workers.contains(owner)) bequeath(owner);
    }
    give_if_leaving();
}

bool Residuals::is_open() const {
    return std::any_of(states_.begin(), states_.end(),
                       [](const auto& entry) { return entry.second->residual().begun(); });
}

void Residuals::discard() {
    for (const auto& [key, state] : states_)
        if (state->residual().begun()) state->discard();
}

void Residuals::conclude(const collectives::Layout& layout, std::span<const std::byte> result,
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

// ------------------------------------------------------------------------ saved, loaded and told

void Residuals::save(const WorkerPtr& worker, const Done& done) {
    const Request& request = worker->head();
    const size_t count = elements_of(request.buffers);
    // The first of the node's workers speaks for the node.
    const bool speaks = is_flat() || is_first_here(*worker);
    std::shared_ptr<const float> owed;
    if (speaks) {
        auto found = state_of(owner_of(*worker), request.buffers);
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

void Residuals::load(const WorkerPtr& worker, const Done& done) {
    const std::vector<BufferPtr>& buffers = worker->head().buffers;
    const size_t count = elements_of(buffers);
    const auto found = state_of(owner_of(*worker), buffers);
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

bool Residuals::owes() const {
    if (handover_.is_leaving()) return false;
    return !states_.empty() || !inherited_.empty() || handover_.is_taking();
}

std::optional<KeptBack> Residuals::kept_back(const Worker& worker) const {
    const bool is_first = is_first_here(worker);
    if (!is_top_k() || (!is_flat() && !is_first)) return std::nullopt;
    KeptBack kept;
    for (const auto& [key, state] : states_) {
        const sparse::Residual& residual = state->residual();
        if (key.owner != owner_of(worker) || residual.exchanges_kept() == 0) continue;
        kept.bytes += residual.count() * sizeof(float);
        kept.exchanges = std::max(kept.exchanges, residual.exchanges_kept());
    }
    if (!is_first) return kept;
    for (const Debt& debt : inherited_) {
        kept.bytes += debt.values.size_bytes();
        kept.exchanges = std::max<uint64_t>(kept.exchanges, 1);
    }
    return kept;
}

// ---------------------------------------------------------------------------------- whose they are

void Residuals::commit_view(const std::vector<NodeId>& leavers) {
    if (is_top_k()) handover_.commit_view(leavers);
}

void Residuals::departed(const Worker& worker) {
    if (is_top_k()) departed_.push_back(worker.rank);
}

Debt Residuals::debt_of(const Key& key, sparse::SparseState& state) const {
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
void Residuals::bequeath(control::Rank owner) {
    for (const auto& [key, state] : states_)
        if (key.owner == owner) inherit(debt_of(key, *state));
    std::erase_if(states_, [owner](const auto& entry) { return entry.first.owner == owner; });
}

void Residuals::give_if_leaving() {
    if (!handover_.is_leaving() || handover_.is_taking() || is_open()) return;
    if (!strand_.is_idle()) return;  // this is called again when the strand is idle
    departed_.clear();
    for (const auto& [key, state] : states_) inherit(debt_of(key, *state));
    states_.clear();
    if (!strand_.is_idle()) return;
    handover_.give(std::exchange(inherited_, {}));
}

}  // namespace pace::daemon
