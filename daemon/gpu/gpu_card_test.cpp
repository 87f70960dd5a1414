// What nodes decide by each other's cards.
#include "daemon/gpu/gpu_card.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using Way = GpuVerdict::Way;

base::cuda::CUuuid gpu(char number) {
    base::cuda::CUuuid uuid{};
    uuid.bytes[15] = number;
    return uuid;
}

device::GroupId id(unsigned char number) {
    device::GroupId made;
    made.bytes[7] = std::byte{number};
    return made;
}

GpuCard card(std::vector<base::cuda::CUuuid> gpus, std::vector<GpuCard::Known> known = {}) {
    GpuCard made;
    made.able = true;
    made.boards = std::move(gpus);
    made.known = std::move(known);
    return made;
}

TEST(GpuCard, SurvivesTheJourney) {
    GpuCard sent = card({gpu(1), gpu(2)}, {{77, true}, {78, false}});
    sent.fresh = id(9);
    const auto got = card_of(bytes_of(sent));
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->able);
    ASSERT_EQ(got->boards.size(), 2U);
    EXPECT_EQ(got->boards[1].bytes[15], 2);
    EXPECT_EQ(got->known, sent.known);
    ASSERT_TRUE(got->fresh);
    EXPECT_EQ(got->fresh->bytes, sent.fresh->bytes);
}

TEST(GpuCard, ANodeWithTooManyGpusIsNotAble) {
    const auto got = card_of(bytes_of(card(std::vector(kGpusPerNodeMax + 1, gpu(1)))));
    ASSERT_TRUE(got);
    EXPECT_FALSE(got->able);
}

TEST(GpuCard, WhatIsNoCardIsRefused) {
    GpuCardBytes bytes{};
    bytes[4] = std::byte{200};
    const auto got = card_of(bytes);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, base::ErrorKind::corrupt);
    EXPECT_NE(got.error().message.find("200 GPUs"), std::string::npos);
}

TEST(GpuVerdict, GoesByTheHostsUnlessAllAreAbleAndTheirGpusDistinct) {
    GpuCard unable;
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{5, true}}), unable}).way, Way::hosts);
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{5, true}}), card({gpu(1)}, {{5, true}})}).way,
              Way::hosts);
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{5, true}})}).way, Way::hosts) << "one GPU alone";
    EXPECT_EQ(verdict_of({card({gpu(1), gpu(2)}, {{5, true}})}), (GpuVerdict{Way::use, 5}));
}

TEST(GpuVerdict, UsesWhatAllHaveReady) {
    const auto verdict =
        verdict_of({card({gpu(1)}, {{4, true}, {5, true}}), card({gpu(2)}, {{6, true}, {5, true}}),
                    card({gpu(3)}, {{5, true}})});
    EXPECT_EQ(verdict, (GpuVerdict{Way::use, 5}));
}

TEST(GpuVerdict, WaitsForWhatAllAreMaking) {
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{5, true}}), card({gpu(2)}, {{5, false}})}).way,
              Way::wait);
    // A communicator that is ready is used although another one is being made.
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{6, false}, {5, true}}),
                          card({gpu(2)}, {{5, true}, {6, false}})}),
              (GpuVerdict{Way::use, 5}));
}

TEST(GpuVerdict, WhereNoneIsCommonOneIsMadeOfTheFirstNodesNumber) {
    GpuCard first = card({gpu(1)});
    first.fresh = id(1);
    EXPECT_EQ(verdict_of({first, card({gpu(2)})}).way, Way::make);
    // The second node was restarted, and the first one could not know.
    EXPECT_EQ(verdict_of({card({gpu(1)}, {{5, true}}), card({gpu(2)})}).way, Way::lacks);
    first.known = {{5, true}};
    EXPECT_EQ(verdict_of({first, card({gpu(2)})}).way, Way::make);
}

}  // namespace
}  // namespace pace::daemon
