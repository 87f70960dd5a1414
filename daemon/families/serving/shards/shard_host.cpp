#include "daemon/families/serving/shards/shard_host.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/threads/release_thread.h"
#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::Floats;
using server::Shard;
using server::Step;

namespace {

// Entries that some nodes may have heard and others not, when a controller dies between telling two
// of them, or a node is cut off from it: as many as the controller keeps.
constexpr size_t kTailMax = 1024;

// The copy is as large as the shard, and charged until nobody needs it.
ShardHost::Copy copy_of(const Shard& shard, const Payer& payer) {
    struct Paid {
        Shard shard;
        Charge charge;
    };
    const Shard::Memory memory = shard.memory();
    const size_t bytes = memory.model + memory.versions;
    auto charge = payer.count(bytes);
    try {
        const auto paid =
            base::released(Paid{Shard(shard.base(), shard.versions()), std::move(charge)}, bytes);
        return std::shared_ptr<const Shard>(paid, &paid->shard);
    } catch (const std::bad_alloc&) {
        return base::make_error(ErrorKind::memory,
                                "there is no memory for a copy of a shard of {} bytes", bytes);
    }
}

// The part of a shard that the entry's worker has pulled; none if it has pulled nothing of this
// shard. In the model the shard begins where `range` does.
std::optional<ShardHost::Part> part_of(Shard& shard, uint32_t number, server::Range range,
                                       const server::Entry& entry, const Payer& payer) {
    const uint64_t begin = std::max<uint64_t>(range.begin, entry.first);
    const uint64_t end = std::min<uint64_t>(range.end, entry.first + entry.count);
    if (begin >= end) return std::nullopt;
    shard.settle();
    std::vector<float> elements(end - begin);
    shard.read(begin - range.begin, elements);
    auto charge = payer.count(elements.size() * sizeof(float));
    return ShardHost::Part{number,        entry.rank,
                           entry.clock,   entry.position,
                           entry.slowest, Floats::of(std::move(elements), std::move(charge))};
}

}  // namespace

class ShardHost::Call {
  public:
    explicit Call(ShardHost& host) : host_(host) {
        if (host_.inside_++ == 0) host_.error_.reset();
    }
    ~Call() { --host_.inside_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Result<> result() const { return host_.error_ ? Result<>(*host_.error_) : Result<>(); }

  private:
    ShardHost& host_;
};

void ShardHost::fail(const base::Error& error) {
    if (inside_ == 0) {
        hooks_.failed(error);
    } else if (!error_) {
        error_ = error;
    }
}

Result<std::vector<control::ServerEntry>> ShardHost::commit(const control::CommitView& view,
                                                            control::NodeId self) {
    const Call call(*this);
    std::vector<control::ServerEntry> heard;
    PACE_TRY(check_shards(view, self));
    if (view.generation != generation_) {
        PACE_TRY(begin_anew(view, self));
        PACE_TRY(call.result());
        return heard;
    }
    places_ = view.shards;
    if (!keeps_any()) {
        // There is nothing to act upon: this node goes on from where the others are, and has heard
        // the entries up to there that the view gives.
        for (const control::ServerEntry& entry : view.missed)
            if (entry.position > ledger_.position) heard.push_back(entry);
        if (ledger_.position != view.ledger.position) tail_.clear();
        ledger_ = server::ledger_of(view.ledger);
        to_act_.clear();
        return heard;
    }
    PACE_TRY(hear(view.missed, heard));
    if (ledger_.position == view.ledger.position) {
        ledger_ = server::ledger_of(view.ledger);
        return heard;
    }
    return base::make_error(ErrorKind::internal,
                            "this node has heard the order up to position {}, the view begins at "
                            "{}",
                            ledger_.position, view.ledger.position);
}

// This node may have lost its shards after saying that it has them, which the view counts upon.
Result<> ShardHost::check_shards(const control::CommitView& view, control::NodeId self) const {
    if (view.model_begins) return {};
    for (uint32_t shard = 0; shard < view.shards.size(); ++shard) {
        if (view.shards[shard] != self) continue;
        if (view.generation == generation_ && keeps(shard)) continue;
        return base::make_error(ErrorKind::internal,
                                "this node is to keep shard {} of a model that is at position {}, "
                                "and has it not",
                                shard, view.ledger.position);
    }
    return {};
}

Result<> ShardHost::begin_anew(const control::CommitView& view, control::NodeId self) {
    const size_t let_go = bytes_of_shards();
    forget();
    generation_ = view.generation;
    places_ = view.shards;
    ledger_ = server::ledger_of(view.ledger);
    std::vector<Kept> shards;
    size_t bytes = 0;
    for (uint32_t shard = 0; shard < places_.size(); ++shard) {
        if (places_[shard] != self) continue;
        bytes += partition().range(shard).size() * sizeof(float);
        shards.push_back({shard, Shard(0)});
    }
    if (!shards.empty()) PACE_TRY(make_room(bytes, let_go));
    make_shards(std::move(shards));
    if (view.saved_generation == 0) return {};
    for (const auto& [shard, seen] : seen_) {
        loading_[shard] = ledger_.versions;
        hooks_.load(shard, view.saved_generation, ledger_.position);
    }
    return {};
}

// The job's options choose this size: there must be room in the user's account and on this node
// before the memory is taken. Memory that was let go of is given back meanwhile.
Result<> ShardHost::make_room(size_t bytes, size_t let_go) {
    PACE_TRY_ASSIGN(charge, payer_.charge(bytes, "this node's shards of a model"));
    const uint64_t room = memory_room();
    PACE_TRY(check_memory_room("this node's shards of a model", bytes,
                               room + std::min<uint64_t>(let_go, UINT64_MAX - room)));
    charge_ = std::move(charge);
    return {};
}

void ShardHost::make_shards(std::vector<Kept> shards) {
    for (const Kept& kept : shards) {
        const size_t count = partition().range(kept.number).size();
        seen_[kept.number] = {count, 0, {.model = count * sizeof(float)}};
    }
    if (shards.empty()) return;
    shards_ = base::released(std::move(shards), bytes_of_shards());
    if (aside_) strand_ = std::make_unique<kernels::Strand>(*aside_);
    work_on_all(bytes_of_shards(), [partition = partition(), late = unsynchronized_](
                                       Kept& kept, Outcome& ret_outcome) {
        auto made = Shard::create(partition.range(kept.number).size());
        ret_outcome.result = made ? Result<>() : Result<>(made.error());
        if (!made) return;
        kept.shard = std::move(*made);
        if (late) kept.shard.let_updates_be_late();
    });
}

void ShardHost::forget() {
    // Ends work that has not begun. Work under way keeps its shards until it has ended.
    strand_ = std::make_unique<kernels::Strand>();
    shards_.reset();
    charge_ = Charge();
    seen_.clear();
    coming_bytes_ = 0;
    generation_ = 0;
    places_.clear();
    loading_.clear();
    models_.clear();
    ledger_ = {};
    to_act_.clear();
    to_save_.clear();
    tail_.clear();
    leaves_.clear();
}

Result<> ShardHost::loaded(uint32_t shard, Shard saved) {
    const auto loading = loading_.find(shard);
    if (loading == loading_.end()) return {};
    const Call call(*this);
    const size_t bytes = saved.memory().model + saved.memory().versions;
    const auto read = base::released(std::move(saved), bytes);
    work_on(shard, bytes, [read, live = std::move(loading->second)](Kept& kept, Outcome&) {
        kept.shard.restore(std::move(*read), live);
    });
    loading_.erase(loading);
    act();
    return call.result();
}

void ShardHost::hold(uint32_t shard, uint32_t rank, uint64_t clock, Shard::Update update) {
    const size_t bytes = update->bytes();
    coming_bytes_ += bytes;
    // The shards act upon the order later than it was heard, after their work under way.
    const bool to_act =
        std::any_of(to_act_.begin(), to_act_.end(), [&](const server::Entry& entry) {
            return entry.step == Step::push && entry.rank == rank && entry.clock == clock;
        });
    work_on(
        shard, unsynchronized_ ? bytes : 0,
        [rank, clock, update = std::move(update), ordered = has_ordered(rank, clock) && !to_act](
            Kept& kept, Outcome&) {
            if (!ordered || kept.shard.awaits(rank, clock)) kept.shard.hold(rank, clock, update);
        },
        [this, bytes](uint32_t, Outcome&) { coming_bytes_ -= bytes; });
}

Result<> ShardHost::hold_model(uint32_t shard, uint64_t round, Floats model) {
    const Call call(*this);
    models_[round][shard] = std::move(model);
    act();
    return call.result();
}

// ----------------------------------------------------------------------------- what the order says

Result<> ShardHost::hear(const std::vector<control::ServerEntry>& entries,
                         std::vector<control::ServerEntry>& ret_heard) {
    const Call call(*this);
    for (const control::ServerEntry& entry : entries) {
        if (entry.position <= ledger_.position) continue;
        if (entry.position != ledger_.position + 1)
            return base::make_error(ErrorKind::internal,
                                    "the order goes on at position {} after {}", entry.position,
                                    ledger_.position);
        const server::Entry own = server::entry_of(entry);
        ledger_.add(own);
        if (own.step == Step::leave) ++leaves_[own.rank];
        if (keeps_any()) {
            to_act_.push_back(own);
            if (own.step == Step::checkpoint) to_save_[own.position] = ledger_;
        }
        tail_.push_back(entry);
        if (tail_.size() > kTailMax) tail_.pop_front();
        ret_heard.push_back(entry);
    }
    act();
    return call.result();
}

void ShardHost::act() {
    while (!error_ && loading_.empty() && !to_act_.empty()) {
        const server::Entry entry = to_act_.front();
        if (entry.step == Step::assign && !has_model(entry.clock)) return;
        to_act_.pop_front();
        perform(entry);
    }
}

bool ShardHost::has_model(uint64_t round) const {
    const auto model = models_.find(round);
    return model != models_.end() && model->second.size() == seen_.size();
}

void ShardHost::perform(const server::Entry& entry) {
    std::map<uint32_t, Floats> model;
    if (entry.step == Step::assign) {
        const auto held = models_.find(entry.clock);
        model = std::move(held->second);
        models_.erase(models_.begin(), std::next(held));
    }
    server::Ledger ledger;
    if (entry.step == Step::checkpoint)
        ledger = std::move(to_save_.extract(entry.position).mapped());
    work_on_all(
        bytes_of(entry),
        [entry, model = std::move(model), partition = partition(), payer = payer_](
            Kept& kept, Outcome& ret_outcome) {
            if (entry.step == Step::assign) {
                const auto& elements = model.at(kept.number).elements;
                kept.shard.hold_model(entry.clock, {elements.begin(), elements.end()});
            }
            ret_outcome.result = kept.shard.act(entry);
            if (!ret_outcome.result) return;
            if (entry.step == Step::pull)
                ret_outcome.part =
                    part_of(kept.shard, kept.number, partition.range(kept.number), entry, payer);
            if (entry.step == Step::checkpoint) {
                kept.shard.settle();
                ret_outcome.copy = copy_of(kept.shard, payer);
            }
        },
        [this, ledger = std::move(ledger)](uint32_t shard, Outcome& outcome) {
            if (outcome.part) hooks_.pulled(std::move(*outcome.part));
            if (outcome.copy) hooks_.save(shard, std::move(*outcome.copy), ledger);
        });
}

// --------------------------------------------------------------------------- the shards' memory

size_t ShardHost::bytes_of_shards() const {
    size_t bytes = 0;
    for (const auto& [shard, seen] : seen_) bytes += seen.memory.model;
    return bytes;
}

// At most so many, as far as is known.
size_t ShardHost::bytes_of(const server::Entry& entry) const {
    size_t changes = coming_bytes_;
    for (const auto& [shard, seen] : seen_) changes += seen.memory.versions + seen.memory.held;
    const size_t model = bytes_of_shards();
    switch (entry.step) {
        case Step::assign:
        case Step::checkpoint:
            return 2 * model + changes;
        case Step::pull:
            return 2 * std::min<size_t>(model, entry.count * sizeof(float)) + changes;
        case Step::push:
        case Step::leave:
        case Step::join:
            break;
    }
    return 2 * changes;
}

void ShardHost::work_on_all(size_t bytes, Work work, Then then) {
    work_on(0, seen_.size(), bytes, std::move(work), std::move(then));
}

void ShardHost::work_on(uint32_t shard, size_t bytes, Work work, Then then) {
    const auto place = static_cast<size_t>(std::distance(seen_.begin(), seen_.find(shard)));
    work_on(place, place + 1, bytes, std::move(work), std::move(then));
}

// Works on shards in the order of their numbers. Either all of it is reported, or nothing.
void ShardHost::work_on(size_t first, size_t last, size_t bytes, Work work, Then then) {
    auto outcomes = std::make_shared<std::vector<Outcome>>(last - first);
    strand_->run(
        bytes, last - first, 1,
        [first, shards = shards_, outcomes, work = std::move(work)](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                Kept& kept = (*shards)[first + i];
                Outcome& outcome = (*outcomes)[i];
                work(kept, outcome);
                outcome.seen = {kept.shard.count(), kept.shard.versions().size(),
                                kept.shard.memory()};
            }
        },
        [this, first, shards = std::weak_ptr(shards_), outcomes,
         then = std::move(then)](const Result<>& memory) {
            if (!memory)
                return fail(base::make_error(ErrorKind::internal,
                                             "there is no memory for a change of the model"));
            for (const Outcome& outcome : *outcomes)
                if (!outcome.result) return fail(outcome.result.error());
            auto seen = std::next(seen_.begin(), static_cast<long>(first));
            for (const Outcome& outcome : *outcomes) (seen++)->second = outcome.seen;
            // A callee may have this object forget the shards.
            std::vector<uint32_t> numbers;
            for (const auto& [number, unused] : seen_) numbers.push_back(number);
            for (size_t i = 0; then && i < outcomes->size() && shards.lock() == shards_; ++i)
                then(numbers[first + i], (*outcomes)[i]);
        });
}

control::ServerReport ShardHost::report() const {
    control::ServerReport report;
    report.generation = generation_;
    report.places = places_;
    for (const auto& [number, seen] : seen_) report.shards.push_back(number);
    report.ledger = server::tell<control::ServerLedger>(ledger_);
    report.tail.assign(tail_.begin(), tail_.end());
    return report;
}

}  // namespace pace::daemon
