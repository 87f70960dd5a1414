#include "daemon/sparse/exchange/collection.h"

#include <gtest/gtest.h>

namespace pace::sparse {
namespace {

// One worker like those of Figure 4: eight elements in one block. Three of them are cut. One
// received entry is added at index 1 before the cut. One entry is discarded after the cut.
std::vector<float> residual(ResidualMode mode, const base::LargeVector<uint32_t>& chosen) {
    kernels::WorkerPool pool(0);
    std::vector<float> gradient = {9, 2, 1, 7, 0, -8, 3, 0};
    UndoLog log(Division(8, 1, 0.375), mode);
    HostGradient store(gradient, pool, [](size_t, size_t) {});
    Collection collection(store, log, ValueFormat::f32);
    Entries received;
    received.push_back(1, 3);
    received.push_back(4, 1);
    collection.add(0, received);
    EXPECT_EQ(collection.values(0)[1], 5);
    const Entries cut = collection.cut(0, 3);
    EXPECT_EQ(cut.indices, (base::LargeVector<uint32_t>{0, 3, 5}));
    EXPECT_EQ(cut.values, (base::LargeVector<float>{9, 7, -8}));
    Entries discarded;
    discarded.push_back(3, 8);
    collection.keep(0, discarded, 2, 0);
    collection.finish(0, chosen);
    return gradient;
}

TEST(Collection, GlobalKeepsAllThatWasCutHere) {
    // Elements 0 and 3 were delivered, except for half of what was discarded at 3. Element 5 was
    // sent in vain. Element 1 is in the result without this worker's part: it has the part of
    // another worker. Element 4 is not in the result, and its owner keeps it.
    EXPECT_EQ(residual(ResidualMode::global, {0, 1, 3}),
              (std::vector<float>{0, 5, 1, 4, 0, -8, 3, 0}));
}

TEST(Collection, PartialKeepsItsOwnThatWasNotDelivered) {
    EXPECT_EQ(residual(ResidualMode::partial, {0, 1, 3}),
              (std::vector<float>{0, 2, 1, 0, 0, -8, 3, 0}));
}

TEST(Collection, LocalKeepsItsOwnThatWasNotSent) {
    EXPECT_EQ(residual(ResidualMode::local, {0, 1, 3}),
              (std::vector<float>{0, 2, 1, 0, 0, 0, 3, 0}));
}

TEST(Collection, WhatRoundingTakesStays) {
    kernels::WorkerPool pool(0);
    std::vector<float> gradient = {2049, 1e-30F, 3};
    UndoLog log(Division(3, 1, 1), ResidualMode::global);
    HostGradient store(gradient, pool, [](size_t, size_t) {});
    Collection collection(store, log, ValueFormat::f16);
    const Entries cut = collection.cut(0, 3);
    EXPECT_EQ(cut.indices, (base::LargeVector<uint32_t>{0, 2}));
    collection.finish(0, cut.indices);
    EXPECT_EQ(gradient, (std::vector<float>{1, 1e-30F, 0}));
}

TEST(Collection, SharesAddUpForAnyNumberOfHolders) {
    kernels::WorkerPool pool(0);
    Entries discarded;
    for (uint32_t i = 0; i < 20; ++i) discarded.push_back(i, static_cast<float>(i) + 1);
    base::LargeVector<uint32_t> all(20);
    for (uint32_t i = 0; i < 20; ++i) all[i] = i;
    for (size_t holders = 1; holders <= 9; ++holders) {
        base::LargeVector<float> total(20, 0.0F);
        for (size_t place = 0; place < holders; ++place) {
            std::vector<float> gradient(20, 0.0F);
            UndoLog log(Division(20, 1, 1), ResidualMode::global);
            HostGradient store(gradient, pool, [](size_t, size_t) {});
            Collection collection(store, log, ValueFormat::f32);
            collection.keep(0, discarded, holders, place);
            collection.finish(0, all);
            for (size_t i = 0; i < 20; ++i) total[i] += gradient[i];
        }
        EXPECT_EQ(total, discarded.values);
    }
}

}  // namespace
}  // namespace pace::sparse
