// Tests gradients that are not on the host. They are cut in another memory, by calls that may fail
// at any time.
#include <memory>

#include <gtest/gtest.h>

#include "daemon/sparse/residual/gradient.h"
#include "daemon/sparse/residual/gradient_store.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;

constexpr size_t kFarNodes = 6;
constexpr size_t kFarLength = 3000;

// A memory that fails after `works` calls.
class Elsewhere final : public FarGradient {
  public:
    Elsewhere(const collectives::Layout& layout, const Vector& given,
              std::vector<std::byte>& ret_result, size_t works)
        : packed_(layout),
          given_(given),
          result_(ret_result),
          works_(works),
          pool_(0),
          residual_(given.size()),
          gradient_(given.size()) {}

    void form(size_t begin, size_t end) override {
        if (!works()) return;
        for (size_t i = begin; i < end; ++i) gradient_[i] = given_[i] + residual_[i];
    }
    Entries top_k(size_t begin, size_t length, size_t k) override {
        return works() ? here().top_k(begin, length, k) : Entries{{0}, {777}};
    }
    void write(size_t begin, std::span<const uint32_t> indices,
               std::span<const float> values) override {
        if (works()) here().write(begin, indices, values);
    }
    Entries add(size_t begin, const Entries& received) override {
        return works() ? here().add(begin, received) : received;
    }
    void scatter_result(const Entries& entries, double scale) override {
        if (works()) sparse::scatter_result(entries, scale, packed_, result_, pool_);
    }
    void swap() override { residual_.swap(gradient_); }
    base::Result<> read(std::span<float> ret_residual) const override {
        std::copy(residual_.begin(), residual_.end(), ret_residual.begin());
        return {};
    }
    base::Result<> status() const override {
        if (used_ <= works_) return {};
        return base::make_error(ErrorKind::unavailable, "the memory is broken");
    }
    size_t used() const { return used_; }

  private:
    bool works() { return ++used_ <= works_; }
    HostGradient here() { return {gradient_, pool_, {}}; }

    Packed packed_;
    const Vector& given_;
    std::vector<std::byte>& result_;
    size_t works_;
    size_t used_ = 0;
    kernels::WorkerPool pool_;
    Vector residual_;
    Vector gradient_;
};

// One exchange with some gradients in other memories. Each memory fails after `works` calls.
struct FarTrial : OneExchange {
    FarTrial(const Options& chosen, const std::vector<bool>& far, size_t works)
        : OneExchange(chosen, std::vector<SparseState>(kFarNodes, SparseState(kFarLength)),
                      gradients_of(kFarNodes, kFarLength, 1)) {
        for (size_t w = 0; w < kFarNodes; ++w) {
            memories.push_back(
                std::make_shared<Elsewhere>(layout, gradients[w], results[w], works));
            if (far[w]) states[w].residual().move_to(memories[w]);
        }
        start(0.5);
    }

    Vector residual(size_t w) {
        states[w].commit();
        Vector values(kFarLength);
        EXPECT_TRUE(states[w].residual().read(values));
        return values;
    }

    std::vector<std::shared_ptr<Elsewhere>> memories;
};

const std::vector<bool> kNone(kFarNodes, false);
const std::vector<bool> kAll(kFarNodes, true);
const std::vector<bool> kFirst{true, false, false, false, false, false};

std::vector<Options> far_options() {
    std::vector<Options> all;
    const auto add = [&all](Algorithm algorithm, size_t teams, ValueFormat values) {
        Options& options = all.emplace_back();
        options.algorithm = algorithm;
        options.teams = teams;
        options.density = 0.1;
        options.format.value = values;
    };
    for (const ValueFormat values : {ValueFormat::f32, ValueFormat::bf16}) {
        for (const size_t teams : {1U, 2U, 3U}) add(Algorithm::spar_dl, teams, values);
        for (const Algorithm algorithm :
             {Algorithm::topk_a, Algorithm::topk_dsa, Algorithm::g_topk})
            add(algorithm, 1, values);
    }
    return all;
}

TEST(FarGradient, GivesTheSame) {
    for (const Options& options : far_options()) {
        FarTrial here(options, kNone, SIZE_MAX);
        here.cluster.run_well();
        for (const auto& far : {kAll, kFirst}) {
            FarTrial there(options, far, SIZE_MAX);
            there.cluster.run_well();
            for (size_t w = 0; w < kFarNodes; ++w) {
                ASSERT_EQ(there.results[w], here.results[w]);
                ASSERT_EQ(there.reports[w].hidden, here.reports[w].hidden);
                ASSERT_EQ(there.residual(w), here.residual(w));
            }
        }
    }
}

TEST(FarGradient, WhatABrokenOneReturnsIsInNoResult) {
    for (const Options& options : far_options()) {
        FarTrial undisturbed(options, kFirst, SIZE_MAX);
        undisturbed.cluster.run_well();
        const size_t uses = undisturbed.memories[0]->used();
        EXPECT_GT(uses, 3U);
        size_t known_elsewhere = 0;
        for (size_t works = 0; works < uses; ++works) {
            FarTrial trial(options, kFirst, works);
            trial.cluster.run();
            // Ends the nodes that wait for node 0.
            trial.cluster.network().kill(trial.cluster.transport(0));
            trial.cluster.run();
            ASSERT_FALSE(trial.cluster.outcome(0)) << "with " << works << " of " << uses;
            for (size_t w = 1; w < kFarNodes; ++w) {
                ASSERT_EQ(trial.cluster.ends(w), 1);
                if (!trial.cluster.outcome(w)) continue;
                ++known_elsewhere;
                ASSERT_EQ(trial.results[w], undisturbed.results[w])
                    << "with " << works << " of " << uses << ", worker " << w;
            }
        }
        EXPECT_GT(known_elsewhere, 0U) << "the last uses come when others have the result";
    }
}

TEST(FarGradient, AlgorithmsThatLookAtAllOfItRefuse) {
    for (const Algorithm algorithm : {Algorithm::dense, Algorithm::ok_topk}) {
        EXPECT_FALSE(runs_elsewhere(algorithm));
        Options options;
        options.algorithm = algorithm;
        FarTrial trial(options, kAll, SIZE_MAX);
        trial.cluster.run();
        for (size_t w = 0; w < kFarNodes; ++w)
            EXPECT_EQ(trial.cluster.outcome(w).error().kind, ErrorKind::invalid);
    }
}

TEST(FarGradient, AResidualIsReadWhereverItIsAndAbsorbsOnlyHere) {
    const auto layout = layout_of(kFarLength);
    const Vector given = whole_numbers(kFarLength, 4);
    std::vector<std::byte> result(layout.bytes());
    const auto far = std::make_shared<Elsewhere>(layout, given, result, SIZE_MAX);
    Residual residual(kFarLength);
    residual.move_to(far);
    EXPECT_EQ(residual.count(), kFarLength);
    EXPECT_TRUE(residual.begin().empty());
    far->form(0, kFarLength);
    const std::vector<uint32_t> indices{1};
    residual.write_next(4, indices, Vector{1000});
    residual.commit();
    Vector expected = given;
    expected[5] = 1000;
    Vector read(kFarLength);
    ASSERT_TRUE(residual.read(read));
    EXPECT_EQ(read, expected);
    EXPECT_EQ(residual.absorb(given).error().kind, ErrorKind::invalid);
    Floats here(kFarLength);
    std::copy(read.begin(), read.end(), here.data());
    residual.move_here(std::move(here));
    EXPECT_EQ(residual.far(), nullptr);
    ASSERT_TRUE(residual.absorb(given));
    EXPECT_EQ(residual.values()[5], 1000 + given[5]);
}

}  // namespace
}  // namespace pace::sparse
