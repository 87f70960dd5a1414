#include "daemon/partial/store.h"

#include <algorithm>
#include <utility>

namespace pace::partial {

using base::ErrorKind;
using base::make_error;
using base::Result;

// Marks a running call of the store. The function that is told that all is made reads the store, so
// it must not run inside a call.
class Store::Call {
  public:
    explicit Call(const Store& store) : making_(store.making_) { ++making_->calls; }
    ~Call() { --making_->calls; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    std::shared_ptr<Making> making_;
};

void Store::join(Rank rank, uint64_t round) {
    workers_[rank].base = round;
}

void Store::leave(Rank rank) {
    workers_.erase(rank);
}

void Store::advance(Rank rank, uint64_t round) {
    const auto worker = workers_.find(rank);
    if (worker != workers_.end()) worker->second.base = std::max(worker->second.base, round);
}

Result<HandIn> Store::hand_in(Rank rank, Segments segments, std::shared_ptr<const void> keep) {
    const auto found = workers_.find(rank);
    if (found == workers_.end())
        return make_error(ErrorKind::invalid, "worker {} is not known to this node; join it first",
                          rank);
    if (segments.empty()) return HandIn::forgotten;
    if (segments.size() != layout().segments().size())
        return make_error(ErrorKind::invalid, "worker {} hands in {} buffers, but the job has {}",
                          rank, segments.size(), layout().segments().size());
    const Call call(*this);
    Worker& worker = found->second;
    const bool is_late = worker.base < open_round_;
    if (is_late && late_ == Late::drop) return HandIn::forgotten;
    Contribution given = Contribution::lend(worker.base, std::move(segments), std::move(keep));
    if (worker.stored) {
        PACE_TRY(
            worker.stored->add(given, layout(), *strand_, std::move(worker.spare), making(), pay_));
        return HandIn::copied;
    }
    if (is_late) PACE_TRY(given.own(layout(), *strand_, std::move(worker.spare), making(), pay_));
    worker.stored = std::move(given);
    return is_late ? HandIn::copied : HandIn::lent;
}

Result<> Store::secure(Rank rank) {
    const auto worker = workers_.find(rank);
    if (worker == workers_.end() || !worker->second.stored) return {};
    if (!worker->second.stored->is_lent()) return {};
    const Call call(*this);
    return worker->second.stored->own(layout(), *strand_, std::move(worker->second.spare), making(),
                                      pay_);
}

bool Store::take_back(Rank rank) {
    const auto worker = workers_.find(rank);
    if (worker == workers_.end()) return false;
    std::optional<Contribution>& stored = worker->second.stored;
    if (!stored || !stored->is_lent()) return false;
    stored.reset();
    return true;
}

// Adds one pending work, until the strand calls the returned function. If no work was begun after
// all, the function is dropped, which also ends the pending work.
kernels::Strand::Done Store::making() {
    struct Pending {
        explicit Pending(std::shared_ptr<Making> of) : making(std::move(of)) { ++making->pending; }
        ~Pending() { end(); }
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;
        void end() {
            if (making == nullptr) return;
            --making->pending;
            making.reset();
        }
        std::shared_ptr<Making> making;
    };
    auto pending = std::make_shared<Pending>(making_);
    return [pending, making = making_](const base::Result<>&) {
        pending->end();
        if (making->pending == 0 && making->calls == 0 && making->made) making->made();
    };
}

std::optional<uint64_t> Store::base(Rank rank) const {
    const auto worker = workers_.find(rank);
    if (worker == workers_.end()) return std::nullopt;
    return worker->second.base;
}

std::optional<uint32_t> Store::staleness(Rank rank, uint64_t round) const {
    const auto worker = workers_.find(rank);
    if (worker == workers_.end() || !worker->second.stored) return std::nullopt;
    return worker->second.stored->staleness(round);
}

std::vector<Rank> Store::awaited(uint64_t round, uint32_t staleness_max) const {
    std::vector<Rank> ranks;
    if (late_ == Late::drop) return ranks;
    for (const auto& [rank, worker] : workers_) {
        const uint64_t next_staleness = round >= worker.base ? round + 1 - worker.base : 0;
        if (!worker.stored && next_staleness > staleness_max) ranks.push_back(rank);
    }
    return ranks;
}

std::vector<Taken> Store::take(uint64_t round, std::span<const Rank> ranks) {
    close(round);
    std::vector<Taken> taken;
    for (const Rank rank : ranks) {
        const auto worker = workers_.find(rank);
        if (worker == workers_.end() || !worker->second.stored) continue;
        taken.push_back({rank, std::move(*worker->second.stored)});
        worker->second.stored.reset();
    }
    return taken;
}

Result<> Store::put_back(uint64_t round, std::vector<Taken> taken) {
    const Call call(*this);
    open_round_ = std::min(open_round_, round);
    Result<> outcome;
    for (Taken& one : taken) {
        const auto worker = workers_.find(one.rank);
        if (worker == workers_.end()) continue;
        std::optional<Contribution>& stored = worker->second.stored;
        if (stored) {
            // Adds the older one first, as if it had never left the store.
            if (Result<> added = one.contribution.add(
                    *stored, layout(), *strand_, std::move(worker->second.spare), making(), pay_);
                !added)
                outcome = std::move(added);
            if (!stored->is_lent()) worker->second.spare = stored->release();
        }
        stored = std::move(one.contribution);
    }
    return outcome;
}

void Store::recycle(std::vector<Taken> taken) {
    for (Taken& one : taken) {
        const auto worker = workers_.find(one.rank);
        if (worker == workers_.end() || one.contribution.is_lent()) continue;
        worker->second.spare = one.contribution.release();
    }
}

}  // namespace pace::partial
