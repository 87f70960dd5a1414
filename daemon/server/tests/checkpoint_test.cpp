#include "daemon/server/checkpoint.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/server/tests/test_folder.h"

namespace pace::server {
namespace {

using base::ErrorKind;

constexpr size_t kModelElements = 1000;
constexpr size_t kAll = std::numeric_limits<size_t>::max();

// Shard 1 of 3, with a dense and a sparse version, and the ledger that belongs to it.
struct Example {
    Checkpoint about{"job", 99, 7, kModelElements, 3, 1, {}};
    Shard shard{Partition(kModelElements, 3).range(1).size()};

    Example() {
        base::Random random(1);
        push(random, 0, 0, 0, 1.0);
        push(random, 1, 0, 0, 0.05);
        push(random, 0, 1, 1, 0.02);
        shard.settle();
        about.ledger.workers[1].prefetched = 7;
    }
    void push(base::Random& random, uint32_t rank, uint64_t clock, uint64_t version, double share) {
        std::vector<float> update(shard.count(), 0.0F);
        for (float& element : update)
            if (random.uniform() < share) element = static_cast<float>(random.uniform());
        shard.hold(rank, clock, HybridVector::of(update));
        Entry entry;
        entry.position = about.ledger.position + 1;
        entry.rank = rank;
        entry.clock = clock;
        entry.version = version;
        entry.rate = version == 0 ? 0.5 : 1.0;
        entry.worker = {clock + 1, version + 1, 0};
        ASSERT_TRUE(shard.act(entry));
        about.ledger.add(entry);
    }
};

base::Result<> save(const std::string& path, const Example& example) {
    PACE_TRY_ASSIGN(file, PackedWriter::create(path));
    return write_checkpoint(*file, example.about, example.shard);
}

base::Result<ReadCheckpoint> load(const std::string& path, size_t elements_max = kAll) {
    PACE_TRY_ASSIGN(file, PackedReader::open(path));
    return read_checkpoint(*file, elements_max);
}

std::vector<float> model_of(const Shard& shard) {
    std::vector<float> model(shard.count());
    shard.read(0, model);
    return model;
}

TEST(Checkpoint, GivesBackTheShardAndItsClocks) {
    const TestFolder folder;
    const Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    const auto read = load(folder.path("file"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->about.job, "job");
    EXPECT_EQ(read->about.token, 99U);
    EXPECT_EQ(read->about.generation, 7U);
    EXPECT_EQ(read->about.elements, kModelElements);
    EXPECT_EQ(read->about.shards, 3U);
    EXPECT_EQ(read->about.shard, 1U);
    EXPECT_EQ(read->about.ledger, example.about.ledger);
    EXPECT_EQ(model_of(read->shard), model_of(example.shard));
    ASSERT_EQ(read->shard.versions().size(), 2U);
    EXPECT_TRUE(read->shard.versions().at(0).sum.is_dense());
    EXPECT_FALSE(read->shard.versions().at(1).sum.is_dense());
}

TEST(Checkpoint, ARestoredShardGoesOnAsTheOneThatWasSaved) {
    const TestFolder folder;
    Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    auto read = load(folder.path("file"));
    ASSERT_TRUE(read);
    Entry entry;
    entry.position = example.about.ledger.position + 1;
    entry.rank = 1;
    entry.clock = 1;
    entry.version = 1;
    entry.rate = 0.5;
    entry.expired = {0};
    const std::vector<float> update(example.shard.count(), 0.25F);
    for (Shard* shard : {&example.shard, &read->shard}) {
        shard->hold(1, 1, HybridVector::of(update));
        ASSERT_TRUE(shard->act(entry));
        shard->settle();
    }
    EXPECT_EQ(model_of(read->shard), model_of(example.shard));
}

TEST(Checkpoint, MoreElementsThanAreTakenAreALimit) {
    const TestFolder folder;
    const Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    EXPECT_TRUE(load(folder.path("file"), example.shard.count()));
    EXPECT_EQ(load(folder.path("file"), example.shard.count() - 1).error().kind, ErrorKind::limit);
}

TEST(Checkpoint, AnEmptyShardIsSavedToo) {
    const TestFolder folder;
    Example example;
    example.about = {"job", 99, 7, 2, 3, 2, {}};
    example.shard = Shard(0);
    ASSERT_TRUE(save(folder.path("file"), example));
    const auto read = load(folder.path("file"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->shard.count(), 0U);
}

// Loads a packed file with any chosen bytes.
base::Result<ReadCheckpoint> load_bytes(const TestFolder& folder, const std::vector<char>& bytes) {
    PACE_TRY_ASSIGN(file, PackedWriter::create(folder.path("forged")));
    PACE_TRY(file->write(std::as_bytes(std::span(bytes))));
    PACE_TRY(file->commit());
    return load(folder.path("forged"), size_t{1} << 20U);
}

std::vector<char> unpacked(const std::string& path) {
    auto file = PackedReader::open(path);
    std::vector<char> bytes;
    char byte = 0;
    while ((*file)->read(std::as_writable_bytes(std::span(&byte, 1)))) bytes.push_back(byte);
    return bytes;
}

TEST(Checkpoint, TellsOfItselfWithoutBeingReadWhole) {
    const TestFolder folder;
    const Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    auto file = PackedReader::open(folder.path("file"));
    ASSERT_TRUE(file);
    const auto about = read_about(**file);
    ASSERT_TRUE(about) << about.error().message;
    EXPECT_EQ(about->token, 99U);
    EXPECT_EQ(about->ledger, example.about.ledger);
}

// A shard restored from a checkpoint keeps its held updates. Versions that get no more updates
// become part of the base.
TEST(Checkpoint, AShardGoesBackToOne) {
    const TestFolder folder;
    Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    const std::vector<float> before = model_of(example.shard);
    base::Random random(2);
    Shard& shard = example.shard;
    example.push(random, 0, 2, 2, 1.0);
    shard.settle();
    ASSERT_NE(model_of(shard), before);
    shard.hold(1, 1, HybridVector::of(std::vector<float>(shard.count(), 1.0F)));
    auto read = load(folder.path("file"));
    ASSERT_TRUE(read);
    shard.restore(std::move(read->shard), {{1, 1}});
    shard.settle();
    const std::vector<float> after = model_of(shard);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6F) << i;
    EXPECT_EQ(shard.versions().size(), 1U);
    EXPECT_TRUE(shard.versions().contains(1));
    EXPECT_TRUE(shard.holds(1, 1));
}

TEST(Checkpoint, WhatLiesAboutItselfIsRefused) {
    const TestFolder folder;
    const Example example;
    ASSERT_TRUE(save(folder.path("file"), example));
    const std::vector<char> good = unpacked(folder.path("file"));
    ASSERT_TRUE(load_bytes(folder, good));

    const auto with = [&](size_t at, auto number) {
        std::vector<char> bytes = good;
        std::memcpy(bytes.data() + at, &number, sizeof(number));
        return load_bytes(folder, bytes);
    };
    EXPECT_EQ(with(0, 'X').error().kind, ErrorKind::corrupt);
    EXPECT_EQ(with(8, uint32_t{2}).error().kind, ErrorKind::version);
    EXPECT_EQ(with(12, uint32_t{1000}).error().kind, ErrorKind::corrupt);
    EXPECT_EQ(with(35, uint64_t{1} << 60U).error().kind, ErrorKind::limit);
    EXPECT_EQ(with(35, uint64_t{2000}).error().kind, ErrorKind::corrupt);  // another length
    EXPECT_EQ(with(43, uint32_t{0}).error().kind, ErrorKind::corrupt);
    EXPECT_EQ(with(47, uint32_t{3}).error().kind, ErrorKind::corrupt);
    EXPECT_EQ(with(75, uint64_t{1} << 40U).error().kind, ErrorKind::corrupt);  // workers
    EXPECT_EQ(with(111, uint32_t{0}).error().kind, ErrorKind::corrupt);        // rank 0 twice
    for (size_t size = 0; size < good.size(); size += 7)
        EXPECT_FALSE(load_bytes(folder, {good.begin(), good.begin() + static_cast<long>(size)}));
}

}  // namespace
}  // namespace pace::server
