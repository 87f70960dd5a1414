// SparseCluster, for tests: workers that exchange repeatedly over an in-memory network. Gradients
// are whole-numbered, so every sum is exact.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/sparse/sparse_all_reduce.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

using Vector = std::vector<float>;

// Whole numbers from -bound to bound.
inline Vector whole_numbers(size_t count, uint64_t seed, uint64_t bound = 50) {
    base::Random random(seed);
    Vector vector(count);
    for (float& value : vector)
        value = static_cast<float>(random.below(2 * bound + 1)) - static_cast<float>(bound);
    return vector;
}

// Three segments, one of them empty.
inline collectives::Layout layout_of(size_t count) {
    const size_t first = count / 3;
    using protocol::DType;
    return collectives::Layout({{DType::f32, first}, {DType::f32, 0}, {DType::f32, count - first}});
}

inline collectives::LocalPart part_of(const collectives::Layout& layout, const Vector& gradient) {
    const auto* bytes = reinterpret_cast<const std::byte*>(gradient.data());
    const size_t first = layout.segments()[0].count * sizeof(float);
    return {layout, {{{bytes, nullptr, bytes + first}, 1.0}}};
}

inline Vector unpacked(const collectives::Layout& layout, const std::vector<std::byte>& result) {
    const Packed packed(layout);
    Vector vector(packed.count());
    packed.for_each(0, packed.count(), [&](size_t segment, size_t, size_t count, size_t place) {
        std::memcpy(vector.data() + place, result.data() + layout.offset(segment),
                    count * sizeof(float));
    });
    return vector;
}

// Stores the report and returns only the outcome, as TestCluster needs it.
inline base::Task<base::Result<>> reporting(base::Task<base::Result<Report>> task,
                                            Report& ret_report) {
    base::Result<Report> report = co_await std::move(task);
    if (!report) co_return std::move(report).error();
    ret_report = *report;
    co_return base::Result<>();
}

// One exchange among workers. It begins with start() and may be disturbed.
struct OneExchange {
    OneExchange(const Options& chosen, std::vector<SparseState> begun_with,
                std::vector<Vector> given, std::optional<uint64_t> seed = std::nullopt)
        : options(chosen),
          gradients(std::move(given)),
          layout(layout_of(gradients[0].size())),
          pool(0),
          states(std::move(begun_with)),
          results(states.size(), std::vector<std::byte>(layout.bytes())),
          reports(states.size()),
          cluster(states.size(), seed) {
        for (const Vector& gradient : gradients) parts.push_back(part_of(layout, gradient));
    }

    void start(double scale) {
        for (size_t w = 0; w < states.size(); ++w)
            cluster.start(w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], scale,
                                                         results[w], states[w], options, pool),
                                       reports[w]));
    }
    // Returns false if everything had ended before.
    bool run_steps(size_t steps) {
        for (size_t i = 0; i < steps && !cluster.all_ended(); ++i) cluster.network().progress();
        return !cluster.all_ended();
    }

    Options options;
    std::vector<Vector> gradients;
    collectives::Layout layout;
    kernels::WorkerPool pool;
    std::vector<SparseState> states;
    std::vector<std::vector<std::byte>> results;
    std::vector<Report> reports;
    std::vector<collectives::LocalPart> parts;
    // The last member: its destructor ends what still uses the others.
    collectives::TestCluster cluster;
};

class SparseCluster {
  public:
    SparseCluster(size_t workers, size_t count)
        : layout_(layout_of(count)), pool_(0), states_(workers), reports_(workers) {
        for (SparseState& state : states_) state = SparseState(count);
    }

    // Runs and commits one exchange. The exchange must end well and alike everywhere.
    Vector exchange(const Options& options, const std::vector<Vector>& gradients,
                    std::optional<uint64_t> seed = std::nullopt, double scale = 1.0) {
        const size_t workers = states_.size();
        collectives::TestCluster cluster(workers, seed);
        std::vector<collectives::LocalPart> parts;
        for (const Vector& gradient : gradients) parts.push_back(part_of(layout_, gradient));
        std::vector<std::vector<std::byte>> results(workers,
                                                    std::vector<std::byte>(layout_.bytes()));
        for (size_t w = 0; w < workers; ++w)
            cluster.start(w, reporting(sparse_all_reduce(cluster.communicator(w), parts[w], scale,
                                                         results[w], states_[w], options, pool_),
                                       reports_[w]));
        cluster.run_well();
        for (size_t w = 1; w < workers; ++w)
            EXPECT_TRUE(results[w] == results[0]) << "worker " << w << " of " << workers;
        for (SparseState& state : states_) state.commit();
        return unpacked(layout_, results[0]);
    }

    SparseState& state(size_t worker) { return states_[worker]; }
    const Report& report(size_t worker) const { return reports_[worker]; }
    Vector residual(size_t worker) const {
        const auto values = states_[worker].residual().values();
        return {values.begin(), values.end()};
    }
    // Σ residuals, plus the given vectors.
    std::vector<double> owed(const std::vector<Vector>& more) const {
        std::vector<double> total(layout_.segments()[0].count + layout_.segments()[2].count);
        const auto add_all = [&](std::span<const float> values) {
            for (size_t i = 0; i < total.size(); ++i) total[i] += static_cast<double>(values[i]);
        };
        for (const SparseState& state : states_) add_all(state.residual().values());
        for (const Vector& vector : more) add_all(vector);
        return total;
    }

  private:
    collectives::Layout layout_;
    kernels::WorkerPool pool_;
    std::vector<SparseState> states_;
    std::vector<Report> reports_;
};

inline std::vector<Vector> gradients_of(size_t workers, size_t count, uint64_t seed,
                                        uint64_t bound = 50) {
    std::vector<Vector> gradients;
    for (size_t w = 0; w < workers; ++w)
        gradients.push_back(whole_numbers(count, seed * 1000 + w, bound));
    return gradients;
}

}  // namespace pace::sparse
