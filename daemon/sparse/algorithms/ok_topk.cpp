#include "daemon/sparse/algorithms/ok_topk.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/kernels/scan.h"
#include "daemon/sparse/algorithms/moves.h"
#include "daemon/sparse/residual/top_k.h"

namespace pace::sparse {

using base::ErrorKind;
using base::Result;
using base::Task;
using collectives::Operation;

namespace {

constexpr uint64_t kThresholdPeriod = 32;  // exchanges between exact thresholds
constexpr uint64_t kBoundaryPeriod = 64;   // exchanges between new boundaries
constexpr double kLocalNudge = 1.012;
constexpr double kGlobalNudge = 1.008;
// If more than this many times k elements reach the threshold, the threshold is outdated and is
// recomputed at once. The value is a guess.
constexpr size_t kHopeless = 4;
// The all-gather is balanced if the largest part is this many times the mean.
constexpr size_t kUnbalanced = 4;

uint32_t key_of(float threshold) {
    return std::max(kernels::magnitude_key(threshold), 1U);
}

// The least magnitude among `values`, or 0 if there are no values. NaN is the greatest and counts
// as infinity.
float least_magnitude(std::span<const float> values) {
    uint32_t least = values.empty() ? 0 : kernels::kNanKey - 1;
    for (const float value : values) least = std::min(least, kernels::magnitude_key(value));
    return std::bit_cast<float>(least);
}

// The threshold of the next exchange. It is a little higher if more than upper · k elements were
// chosen, and a little lower if less than 2/3 k were chosen.
float nudged(float threshold, size_t chosen, size_t k, double upper, double factor) {
    const auto count = static_cast<double>(chosen);
    const auto wanted = static_cast<double>(k);
    if (count > upper * wanted) return static_cast<float>(threshold * factor);
    if (count < 2.0 / 3.0 * wanted) return static_cast<float>(threshold / factor);
    return threshold;
}

template <typename Number>
Bytes bytes_of(std::span<const Number> numbers) {
    Bytes bytes(numbers.size_bytes());
    if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

template <typename Number>
std::vector<Number> numbers_of(std::span<const std::byte> bytes) {
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    if (!numbers.empty())
        std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
    return numbers;
}

class OkTopk {
  public:
    explicit OkTopk(Exchange& exchange)
        : exchange_(exchange),
          communicator_(exchange.communicator),
          state_(exchange.adaptation.ok_topk),
          format_(exchange.format()),
          ring_(ring_of_all(exchange.P(), exchange.w())),
          n_(exchange.frame(0).length),
          k_(exchange.frame(0).k) {}

    Task<Result<Entries>> run() {
        Entries own;
        const std::function<void()> select = [&] { own = select_locally(); };
        co_await exchange_.aside.run(select);
        if (state_.iteration % kBoundaryPeriod == 0) {
            Result<> balanced = co_await balance_regions(own);
            if (!balanced) co_return std::move(balanced).error();
        }
        Result<Entries> reduced = co_await split_and_reduce(own);
        if (!reduced) co_return reduced;
        if (state_.iteration % kThresholdPeriod == 0) {
            Result<> found = co_await find_global_threshold(*reduced);
            if (!found) co_return std::move(found).error();
        }
        Entries chosen;
        Entries errors;
        const std::function<void()> choose = [&] { chosen = select_globally(*reduced, errors); };
        co_await exchange_.aside.run(reduced->size(), choose);
        co_await keep(exchange_, 0, errors, {});
        exchange_.collection.settle();
        Result<Entries> all = co_await gather_balanced(std::move(chosen));
        if (!all) co_return all;
        state_.global_threshold =
            nudged(state_.global_threshold, all->size(), k_, 4.0 / 3.0, kGlobalNudge);
        ++state_.iteration;
        co_await finish_aside(exchange_, 0, *all);
        co_return all;
    }

  private:
    Entries select_locally() {
        const std::span<const float> gradient = exchange_.collection.values(0);
        Entries chosen;
        bool exact = state_.iteration % kThresholdPeriod == 0 || state_.local_threshold == 0;
        if (!exact) {
            chosen =
                at_least(Parts(&gradient, 1), key_of(state_.local_threshold), exchange_.aside.pool);
            exact = chosen.size() > kHopeless * k_;
        }
        if (exact) {
            chosen = top_k(gradient, k_, exchange_.aside.pool);
            state_.local_threshold = least_magnitude(chosen.values);
        }
        state_.local_threshold =
            nudged(state_.local_threshold, chosen.size(), k_, 5.0 / 4.0, kLocalNudge);
        return exchange_.collection.take(0, std::move(chosen));
    }

    // Finds boundaries that give each worker the same number of chosen indices, and takes the mean
    // of all workers' boundaries.
    Task<Result<>> balance_regions(const Entries& own) {
        const size_t P = exchange_.P();
        std::vector<uint32_t> mine(P + 1, static_cast<uint32_t>(n_));
        for (size_t r = 0; r < P; ++r)
            mine[r] =
                own.empty() ? static_cast<uint32_t>(n_ * r / P) : own.indices[own.size() * r / P];
        mine[0] = 0;
        const size_t size = (P + 1) * sizeof(uint32_t);
        Bytes gathered = bytes_of(std::span<const uint32_t>(mine));
        gathered.resize(P * size);
        const std::vector<size_t> sizes(P, size);
        Result<> moved = co_await bruck_all_gather(
            communicator_, ring_, slot_of(SparsePhase::balance, 0), sizes, gathered);
        if (!moved) co_return moved;
        std::vector<uint64_t> sums(P + 1, 0);
        for (size_t i = 0; i < P; ++i) {
            const std::vector<uint32_t> theirs =
                numbers_of<uint32_t>(std::span(gathered).subspan(i * size, size));
            if (theirs.front() != 0 || theirs.back() != n_ ||
                !std::is_sorted(theirs.begin(), theirs.end()))
                co_return exchange_.fail(
                    {ErrorKind::corrupt, "a peer's boundaries are not in order; it is broken"});
            for (size_t r = 0; r <= P; ++r) sums[r] += theirs[r];
        }
        state_.boundaries.resize(P + 1);
        for (size_t r = 0; r <= P; ++r) state_.boundaries[r] = static_cast<uint32_t>(sums[r] / P);
        co_return Result<>();
    }

    Block region(size_t rank) const {
        return {state_.boundaries[rank], state_.boundaries[rank + 1], 0};
    }

    // Sums what all workers have in this worker's region. Indices count from the region's
    // beginning.
    Task<Result<Entries>> split_and_reduce(const Entries& own) {
        std::vector<Bytes> outgoing(exchange_.P());
        const std::function<void()> split = [&] {
            for (size_t r = 0; r < exchange_.P(); ++r) {
                const Block to = region(r);
                const Entries part = slice(own, to.begin, to.end);
                outgoing[r] = coded(part, {to.length(), part.size()});
            }
        };
        co_await exchange_.aside.run(own.size(), split);
        const size_t length = region(exchange_.w()).length();
        // The size if every element of the region came in the papers' format.
        const size_t size_max = kCountBytes + 8 * length + 16;
        Result<std::vector<Bytes>> incoming =
            co_await all_to_all(communicator_, ring_, std::move(outgoing), size_max);
        if (!incoming) co_return std::move(incoming).error();
        std::optional<Result<Entries>> total;
        const std::function<void()> add_up = [&] { total = sum_of(*incoming, length); };
        co_await exchange_.aside.run(add_up);
        if (!*total) co_return exchange_.fail(std::move(*total).error());
        co_return std::move(*total);
    }

    Result<Entries> sum_of(const std::vector<Bytes>& parts, size_t length) const {
        std::vector<Entries> lists;
        for (const Bytes& bytes : parts) {
            Result<Entries> entries = decode_counted(format_, length, length, bytes);
            if (!entries) return entries;
            lists.push_back(std::move(entries).value());
        }
        Entries total = sum_all(std::move(lists));
        drop_zeros(total);
        return total;
    }

    Bytes coded(const Entries& entries, Frame frame) const {
        Bytes bytes(coded_bytes_max(format_, frame));
        encode(format_, frame, entries, bytes);
        return bytes;
    }

    // Finds the k-th greatest magnitude of all reduced values.
    Task<Result<>> find_global_threshold(const Entries& reduced) {
        Bytes best;
        const std::function<void()> choose = [&] {
            best = bytes_of(std::span<const float>(split_top_k(reduced, k_).kept.values));
        };
        co_await exchange_.aside.run(reduced.size(), choose);
        Result<GatheredParts> gathered = co_await gather_parts(communicator_, exchange_.aside,
                                                               ring_, best, k_ * sizeof(float), 0);
        if (!gathered) co_return std::move(gathered).error();
        Cut cut;
        const std::function<void()> find = [&] {
            std::vector<float> values;
            for (const std::span<const std::byte> part : gathered->parts) {
                const std::vector<float> theirs = numbers_of<float>(part);
                values.insert(values.end(), theirs.begin(), theirs.end());
            }
            cut = find_cut(values, k_);
        };
        co_await exchange_.aside.run(gathered->memory.size() / sizeof(float), find);
        state_.global_threshold = std::bit_cast<float>(std::min(cut.key, kernels::kNanKey - 1));
        co_return Result<>();
    }

    // Returns the chosen entries as they travel, with indices of the whole vector. Also returns
    // what rounding takes away.
    Entries select_globally(const Entries& reduced, Entries& ret_errors) const {
        const size_t begin = region(exchange_.w()).begin;
        const uint32_t key_min = key_of(state_.global_threshold);
        Entries chosen;
        for (size_t i = 0; i < reduced.size(); ++i)
            if (kernels::magnitude_key(reduced.values[i]) >= key_min)
                chosen.push_back(reduced.indices[i] + static_cast<uint32_t>(begin),
                                 reduced.values[i]);
        ret_errors = round_entries(chosen, format_.value);
        return chosen;
    }

    Frame frame_of(size_t count) const { return {n_, count}; }

    // Gathers all workers' chosen entries. Their numbers are gathered first, so all sizes are known
    // afterwards.
    Task<Result<Entries>> gather_balanced(Entries chosen) {
        const size_t P = exchange_.P();
        const auto count = static_cast<uint64_t>(chosen.size());
        Bytes numbers = bytes_of(std::span<const uint64_t>(&count, 1));
        numbers.resize(P * sizeof(uint64_t));
        const std::vector<size_t> sizes(P, sizeof(uint64_t));
        Result<> moved = co_await bruck_all_gather(
            communicator_, ring_, slot_of(SparsePhase::sizes, kRoundsMax), sizes, numbers);
        if (!moved) co_return std::move(moved).error();
        std::vector<size_t> counts(P);
        size_t total = 0;
        for (size_t i = 0; i < P; ++i) {
            const size_t rank = ring_.after(i);
            counts[rank] = numbers_of<uint64_t>(std::span(numbers).subspan(i * 8, 8))[0];
            if (counts[rank] > n_ - std::min(total, n_))
                co_return exchange_.fail(
                    {ErrorKind::corrupt, "peers announced more entries than there are elements"});
            total += counts[rank];
        }
        if (*std::max_element(counts.begin(), counts.end()) * P > kUnbalanced * total) {
            Result<Entries> even = co_await rebalance(std::move(chosen), counts);
            if (!even) co_return even;
            chosen = std::move(even).value();
            for (size_t r = 0; r < P; ++r) counts[r] = total * (r + 1) / P - total * r / P;
        }
        std::vector<Frame> frames;
        for (const size_t one : counts) frames.push_back(frame_of(one));
        Result<std::vector<Entries>> parts = co_await gather_entries(
            exchange_, ring_, SparsePhase::gather, std::move(frames), chosen);
        if (!parts) co_return std::move(parts).error();
        co_return co_await joined(*parts);
    }

    // Joins parts that follow each other.
    Task<Result<Entries>> joined(const std::vector<Entries>& parts) {
        Entries all;
        bool in_order = true;
        const std::function<void()> join = [&] {
            for (const Entries& part : parts) {
                if (!all.empty() && !part.empty() && part.indices.front() <= all.indices.back())
                    in_order = false;
                append_block(all, part, 0);
            }
        };
        co_await exchange_.aside.run(entries_of(parts), join);
        if (!in_order)
            co_return exchange_.fail(
                {ErrorKind::corrupt, "a peer's entries are not of its region; it is broken"});
        co_return all;
    }

    // Moves entries so that, in order, rank r has the numbers total·r/P up to total·(r+1)/P.
    Task<Result<Entries>> rebalance(Entries chosen, const std::vector<size_t>& counts) {
        const size_t w = exchange_.w();
        const Moves moves(counts);
        std::vector<Bytes> outgoing;
        const std::function<void()> code = [&] { outgoing = code_moved(chosen, moves); };
        co_await exchange_.aside.run(chosen.size(), code);
        Result<std::vector<Bytes>> incoming = co_await move_entries(moves, outgoing);
        if (!incoming) co_return std::move(incoming).error();
        std::vector<Entries> parts;
        for (size_t other = 0; other < exchange_.P(); ++other) {
            const Block in = moves.between(other, w);
            if (in.length() == 0) continue;
            if (other == w) {
                const std::function<void()> copy = [&] {
                    parts.push_back(places(chosen, in.begin - moves.first(w), in.length()));
                };
                co_await exchange_.aside.run(in.length(), copy);
                continue;
            }
            Result<Entries> part =
                co_await decode_aside(exchange_, frame_of(in.length()), (*incoming)[other]);
            if (!part) co_return part;
            parts.push_back(std::move(part).value());
        }
        co_return co_await joined(parts);
    }

    // What this rank gives to each other, as it travels. Empty: nothing.
    std::vector<Bytes> code_moved(const Entries& chosen, const Moves& moves) const {
        const size_t w = exchange_.w();
        std::vector<Bytes> outgoing(exchange_.P());
        for (size_t other = 0; other < outgoing.size(); ++other) {
            const Block out = moves.between(w, other);
            if (other == w || out.length() == 0) continue;
            const Entries part = places(chosen, out.begin - moves.first(w), out.length());
            outgoing[other] = coded(part, frame_of(out.length()));
        }
        return outgoing;
    }

    // Returns what this rank gets from each other.
    Task<Result<std::vector<Bytes>>> move_entries(const Moves& moves,
                                                  const std::vector<Bytes>& outgoing) {
        const size_t P = exchange_.P();
        const size_t w = exchange_.w();
        const std::unique_ptr<Operation[]> sent(new Operation[P]);
        const std::unique_ptr<Operation[]> received(new Operation[P]);
        std::vector<Bytes> incoming(P);
        const uint32_t slot = slot_of(SparsePhase::balance, kRoundsMax);
        for (size_t other = 0; other < P; ++other) {
            if (other == w) continue;
            if (const Block in = moves.between(other, w); in.length() > 0) {
                incoming[other].resize(coded_bytes_max(format_, frame_of(in.length())));
                communicator_.post_receive(received[other], other, slot, incoming[other]);
            }
            if (!outgoing[other].empty())
                communicator_.post_send(sent[other], other, slot, outgoing[other]);
        }
        for (size_t other = 0; other < P; ++other) {
            communicator_.note(co_await received[other].ended());
            communicator_.note(co_await sent[other].ended());
        }
        if (communicator_.aborted()) co_return communicator_.status().error();
        co_return incoming;
    }

    // Returns `count` entries from place `first` on.
    static Entries places(const Entries& entries, size_t first, size_t count) {
        Entries out;
        out.append(entries.indices.data() + first, entries.values.data() + first, count);
        return out;
    }

    Exchange& exchange_;
    collectives::Communicator& communicator_;
    OkTopkState& state_;
    WireFormat format_;
    Ring ring_;
    size_t n_;
    size_t k_;
};

}  // namespace

Task<Result<Entries>> ok_topk(Exchange& exchange) {
    OkTopk exchange_of_this(exchange);
    co_return co_await exchange_of_this.run();
}

}  // namespace pace::sparse
