// The checkpoints of shards on a daemon's disk: what is saved is loaded again, and a file that is
// torn, or is another one than its name says, is neither loaded nor counted.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/families/serving/shards/shard_disk.h"
#include "daemon/jobs/tests/job_fixture.h"
#include "daemon/server/checkpoint_folder.h"
#include "daemon/server/tests/test_folder.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using base::Result;
using server::CheckpointName;

// A job's model of two shards.
class SavedShards : public JobFixture {
  protected:
    static constexpr uint32_t kSaver = 1000;  // the job's user
    static constexpr uint64_t kModelToken = 5;
    static constexpr uint64_t kSavedElements = 2000;
    static constexpr size_t kShardElements = kSavedElements / 2;

    SavedShards() {
        services_.options.checkpoints = folder_.path();
        options_.name = "saved";
        options_.policy = control::Policy::ssp;
        options_.elements = kSavedElements;
    }
    static server::Checkpoint about(uint64_t generation, uint64_t position, uint32_t shard) {
        server::Checkpoint about;
        about.job = "saved";
        about.token = kModelToken;
        about.generation = generation;
        about.elements = kSavedElements;
        about.shards = 2;
        about.shard = shard;
        about.ledger.position = position;
        about.ledger.workers[3] = {.clock = position, .version = 0, .prefetched = 0};
        return about;
    }
    // Calls `work` with a callback, and returns what that gets.
    template <typename Got, typename Work>
    Got wait(Work work) {
        std::optional<Got> got;
        work([&got](Got result) { got.emplace(std::move(result)); });
        while (!got) loop_->turn(true);
        return std::move(*got);
    }
    Result<std::vector<std::byte>> save(const server::Checkpoint& about, float value,
                                        bool for_copy = false) {
        const auto shard =
            std::make_shared<const server::Shard>(std::vector<float>(kShardElements, value),
                                                  std::map<uint64_t, server::Shard::Version>{});
        return wait<Result<std::vector<std::byte>>>(
            [&](auto done) { disk().save(about, shard, for_copy, done); });
    }
    Result<server::ReadCheckpoint> load(const CheckpointName& name) {
        return wait<Result<server::ReadCheckpoint>>([&](auto done) { disk().load(name, done); });
    }
    // Generation, position and shards of each model that is listed.
    using Row = std::tuple<uint64_t, uint64_t, std::vector<uint32_t>>;
    std::vector<Row> list() {
        std::vector<Row> rows;
        const auto models =
            wait<std::vector<control::SavedModel>>([&](auto done) { disk().list(done); });
        for (const auto& model : models) {
            EXPECT_EQ(model.token, kModelToken);
            EXPECT_EQ(model.shards, 2U);
            rows.emplace_back(model.generation, model.ledger.position, model.there);
        }
        return rows;
    }
    Result<> check() {
        return wait<Result<>>(
            [&](auto done) { ShardDisk::check(services_, scope_, options_, kSaver, done); });
    }
    ShardDisk& disk() {
        if (!disk_) disk_.emplace(services_, options_, kSaver);
        return *disk_;
    }
    // As a daemon that was restarted.
    void begin_anew() { disk_.reset(); }
    std::string path(const CheckpointName& name) const {
        return server::CheckpointFolder(folder_.path(), kSaver, "saved").path_of(name);
    }
    static void cut(const std::string& path, size_t bytes) {
        std::filesystem::resize_file(path, bytes);
    }
    static size_t size_of(const std::string& path) { return std::filesystem::file_size(path); }
    template <typename Act>
    static std::string log_of(Act act) {
        testing::internal::CaptureStderr();
        act();
        return testing::internal::GetCapturedStderr();
    }
    static std::vector<float> model_of(const server::Shard& shard) {
        std::vector<float> model(shard.count());
        shard.read(0, model);
        return model;
    }

    const server::TestFolder folder_;
    control::JobOptions options_;
    base::Scope scope_;
    std::optional<ShardDisk> disk_;
};

TEST_F(SavedShards, AreLoadedAsTheyWereSaved) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    ASSERT_TRUE(save(about(1, 10, 1), 4));
    begin_anew();
    const auto read = load({1, 10, 2, 1});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(model_of(read->shard), std::vector<float>(kShardElements, 4));
    EXPECT_EQ(read->about.ledger.workers.at(3).clock, 10U);
}

TEST_F(SavedShards, AreListedByTheMomentThatTheyAreOf) {
    EXPECT_TRUE(list().empty()) << "there is no folder yet";
    for (const uint32_t shard : {1U, 0U}) ASSERT_TRUE(save(about(1, 10, shard), 3));
    ASSERT_TRUE(save(about(1, 12, 1), 3));
    ASSERT_TRUE(save(about(2, 4, 0), 3));
    EXPECT_EQ(list(), (std::vector<Row>{{1, 10, {0, 1}}, {1, 12, {1}}, {2, 4, {0}}}));
}

TEST_F(SavedShards, OfEarlierMomentsAreRemovedOnceTheyAreOfNoUse) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    ASSERT_TRUE(save(about(2, 4, 0), 3));
    ASSERT_TRUE(save(about(2, 5, 0), 3));
    disk().remove_before(2, 5);
    ASSERT_TRUE(save(about(2, 6, 0), 3)) << "after the removal";
    EXPECT_EQ(list(), (std::vector<Row>{{2, 5, {0}}, {2, 6, {0}}}));
}

// A node keeps what another one has written.
TEST_F(SavedShards, ThatWereSentToAnotherNodeAreLoadedThere) {
    const auto sent = save(about(1, 10, 0), 3, true);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->size(), size_of(path({1, 10, 2, 0})));
    const server::TestFolder elsewhere;
    services_.options.checkpoints = elsewhere.path();
    begin_anew();
    EXPECT_TRUE(list().empty());
    Parcel parcel;
    parcel.bytes = *sent;
    ASSERT_TRUE(wait<Result<>>([&](auto done) {
        disk().keep({1, 10, 2, 0}, std::move(parcel), done);
    }));
    const auto read = load({1, 10, 2, 0});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(model_of(read->shard), std::vector<float>(kShardElements, 3));
}

TEST_F(SavedShards, WhoseFilesAreTornAreNotLoadedAndNotListedAfterThat) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    ASSERT_TRUE(save(about(1, 12, 0), 3));
    const std::string torn = path({1, 12, 2, 0});
    cut(torn, size_of(torn) - 1);
    EXPECT_EQ(list().size(), 2U) << "its head is whole";
    const auto read = load({1, 12, 2, 0});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
    EXPECT_EQ(list(), (std::vector<Row>{{1, 10, {0}}}));
}

TEST_F(SavedShards, WhoseFilesAreTornAnywhereAreNotLoaded) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    const std::string whole = path({1, 10, 2, 0});
    const size_t size = size_of(whole);
    for (size_t bytes = 0; bytes < size; bytes += 1 + size / 50) {
        std::filesystem::copy_file(whole, path({1, bytes + 20, 2, 0}));
        cut(path({1, bytes + 20, 2, 0}), bytes);
        EXPECT_FALSE(load({1, bytes + 20, 2, 0})) << bytes << " of " << size;
    }
    EXPECT_FALSE(load({1, 11, 2, 0})) << "there is no such file";
    EXPECT_TRUE(load({1, 10, 2, 0}));
}

TEST_F(SavedShards, WithoutAReadableHeadAreInTheLogOnce) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    cut(path({1, 10, 2, 0}), 3);
    const std::string log = log_of([&] {
        EXPECT_TRUE(list().empty());
        EXPECT_TRUE(list().empty());
    });
    EXPECT_NE(log.find("a checkpoint is of no use"), std::string::npos) << log;
    EXPECT_EQ(log.find("a checkpoint is of no use"), log.rfind("a checkpoint is of no use"));
}

// A peer chooses what it sends for a copy, and somebody may have renamed a file.
TEST_F(SavedShards, UnderAnothersNameAreNeitherListedNorLoaded) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    for (const CheckpointName& name : {CheckpointName{1, 10, 2, 1}, CheckpointName{1, 11, 2, 0},
                                       CheckpointName{2, 10, 2, 0}, CheckpointName{1, 10, 3, 0}}) {
        std::filesystem::copy_file(path({1, 10, 2, 0}), path(name));
        const auto read = load(name);
        ASSERT_FALSE(read) << server::text_of(name);
        EXPECT_EQ(read.error().kind, ErrorKind::corrupt) << server::text_of(name);
    }
    begin_anew();
    const std::string log = log_of([&] { EXPECT_EQ(list(), (std::vector<Row>{{1, 10, {0}}})); });
    EXPECT_NE(log.find("it is of another model"), std::string::npos) << log;
}

TEST_F(SavedShards, OfAnotherModelAreNeitherListedNorLoaded) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    begin_anew();
    options_.elements = kSavedElements - 2;
    log_of([&] { EXPECT_TRUE(list().empty()); });
    const auto read = load({1, 10, 2, 0});
    EXPECT_FALSE(read) << "there is room for as many elements as the job's model has";
}

TEST_F(SavedShards, WithoutADiskSayWhy) {
    begin_anew();
    services_.options.checkpoints.clear();
    const auto saved = save(about(1, 10, 0), 3);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().kind, ErrorKind::disk);
    EXPECT_NE(saved.error().message.find("`checkpoints`"), std::string::npos);

    begin_anew();
    std::ofstream(folder_.path("file")) << "no folder";
    services_.options.checkpoints = folder_.path("file");
    const auto failed = save(about(1, 10, 0), 3);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message.find(folder_.path("file")), std::string::npos)
        << failed.error().message;
}

// ------------------------------------------------------------------------------- jobs that begin

TEST_F(SavedShards, AreNeededByAJobThatRestoresAndOfTheSameSize) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    options_.restore = true;
    EXPECT_TRUE(check());
    options_.elements = 7;
    const auto other = check();
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::mismatch);
    EXPECT_NE(other.error().message.find("elements is 7"), std::string::npos);
    EXPECT_NE(other.error().message.find(path({1, 10, 2, 0})), std::string::npos);
    options_.restore = false;
    EXPECT_TRUE(check()) << "it begins with a model of its own";
}

TEST_F(SavedShards, ThatAreTornEndAJobThatRestoresAndNameTheFile) {
    ASSERT_TRUE(save(about(1, 10, 0), 3));
    cut(path({1, 10, 2, 0}), 5);
    options_.restore = true;
    const auto torn = check();
    ASSERT_FALSE(torn);
    EXPECT_EQ(torn.error().kind, ErrorKind::disk);
    EXPECT_NE(torn.error().message.find(path({1, 10, 2, 0})), std::string::npos)
        << torn.error().message;
}

TEST_F(SavedShards, AreNotToBeHadWithoutAFolder) {
    services_.options.checkpoints.clear();
    EXPECT_TRUE(check());
    options_.checkpoint_every_ms = 1000;
    const auto refused = check();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::disk);
}

}  // namespace
}  // namespace pace::daemon
