// Checkpoints of a model's shards: what workers ask for, what a node says of its own shards and of
// copies, and what it does with files that other nodes send.
#include "daemon/families/serving/shards/saving.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "daemon/jobs/tests/served/served_job_fixture.h"
#include "daemon/server/checkpoint_folder.h"
#include "daemon/server/tests/test_folder.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using protocol::Outcome;
using server::LetterKind;

class SavingTest : public ServedJob {
  protected:
    // The node keeps checkpoints in this folder.
    void keep_files() { services_.options.checkpoints = folder_.path(); }
    server::CheckpointFolder files() const { return {folder_.path(), kUser, "served"}; }
    static std::vector<std::byte> contents(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
        const auto bytes = std::as_bytes(std::span(all));
        return {bytes.begin(), bytes.end()};
    }
    // What the controller would have to hear of a checkpoint that this node saves next.
    std::vector<control::ServerSaved> saved() {
        std::vector<control::ServerSaved> all;
        EXPECT_TRUE(until([&] {
            for (auto& one : told_.take<control::ServerSaved>()) all.push_back(std::move(one));
            return !all.empty();
        }));
        return all;
    }
    void end(uint64_t position, const std::string& failure, uint64_t own) {
        control::CheckpointEnded ended;
        ended.job = kJob;
        ended.generation = view_.generation;
        ended.position = position;
        ended.failure = failure;
        ended.answers = {{.rank = 0, .own = own}};
        job_->checkpoint_ended(ended);
    }
    // The other node sends a file of its shard.
    void send_file(uint64_t position, const std::vector<std::byte>& bytes) {
        server::Letter letter;
        letter.kind = LetterKind::checkpoint;
        letter.shard = kTheirShard;
        letter.generation = view_.generation;
        letter.position = position;
        letter.bytes = bytes.size();
        const auto kept = std::make_shared<const std::vector<std::byte>>(bytes);
        mail_.send(kSelf, letter, {kept, *kept});
    }
    server::Letter answer_to_file() {
        EXPECT_TRUE(until([this] { return !come_.empty(); }));
        const auto letters = take_letters();
        EXPECT_EQ(letters.size(), 1U);
        if (letters.empty()) return {};
        EXPECT_EQ(letters[0].letter.kind, LetterKind::kept);
        EXPECT_EQ(letters[0].letter.shard, kTheirShard);
        return letters[0].letter;
    }

    const server::TestFolder folder_;
};

// ---------------------------------------------------------------------------- what workers ask for

TEST_F(SavingTest, ACheckpointIsAskedForWithTheWorkersUpdatesSoFar) {
    begin();
    push(0, 1);
    push(1, 1);
    checkpoint();
    const auto asked = told_.take<control::CheckpointAsked>();
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].job, kJob);
    EXPECT_EQ(asked[0].generation, 1U);
    EXPECT_EQ(asked[0].rank, 0U);
    EXPECT_EQ(asked[0].own, 2U);
}

TEST_F(SavingTest, ACheckpointEndsThoseCallsWhoseUpdatesItHas) {
    begin();
    push(0, 1);
    const uint64_t first = checkpoint();
    push(1, 1);
    const uint64_t second = checkpoint();
    end(9, {}, 1);
    EXPECT_EQ(outcome_of(first), Outcome::done);
    EXPECT_EQ(port_.endings.at(first).group, 9U);
    EXPECT_FALSE(port_.ended(second));
    end(12, {}, 2);
    EXPECT_EQ(outcome_of(second), Outcome::done);
}

TEST_F(SavingTest, ACheckpointThatFailsSaysWhyAndNothingOfAnotherModelCounts) {
    begin();
    const uint64_t id = checkpoint();
    control::CheckpointEnded other;
    other.job = kJob;
    other.generation = 5;
    other.answers = {{.rank = 0, .own = 9}};
    job_->checkpoint_ended(other);
    EXPECT_FALSE(port_.ended(id)) << "that was a checkpoint of another model";
    end(9, "no space left", 0);
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::disk);
    EXPECT_NE(message_of(id).find("position 9 failed: no space left"), std::string::npos);
}

TEST_F(SavingTest, ACanceledCheckpointEndsOnceAndTheOthersGoOn) {
    begin();
    const uint64_t first = checkpoint();
    const uint64_t second = checkpoint();
    job_->cancel(worker_, first);
    job_->cancel(worker_, first);
    EXPECT_EQ(outcome_of(first), Outcome::canceled);
    EXPECT_FALSE(port_.ended(second));
    end(9, {}, 0);
    EXPECT_EQ(outcome_of(second), Outcome::done);
}

// The controller may be another one, which knows of nothing.
TEST_F(SavingTest, ACheckpointIsAskedForAgainInEachViewUntilItEnds) {
    open();
    const uint64_t id = checkpoint();
    EXPECT_TRUE(told_.take<control::CheckpointAsked>().empty()) << "there is no model yet";
    view_.generation = 1;
    view_.model_begins = true;
    commit();
    EXPECT_EQ(told_.take<control::CheckpointAsked>().size(), 1U);
    commit();
    EXPECT_EQ(told_.take<control::CheckpointAsked>().size(), 1U);
    end(3, {}, 0);
    EXPECT_TRUE(port_.ended(id));
    commit();
    EXPECT_TRUE(told_.take<control::CheckpointAsked>().empty());
}

// ----------------------------------------------------------------------------- this node's shards

TEST_F(SavingTest, WithoutAFolderAShardIsNotSavedAndTheControllerHearsWhy) {
    begin();
    tell(ServerStep::checkpoint, 0);
    const auto told = saved();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].shard, kOurShard);
    EXPECT_EQ(told[0].position, position_);
    EXPECT_NE(told[0].failure.find("keeps no checkpoints"), std::string::npos) << told[0].failure;
}

TEST_F(SavingTest, AShardThatNeedsNoCopyIsOnTheDiskWhenTheControllerHearsOfIt) {
    keep_files();
    options_.checkpoint_copies = 1;
    begin();
    tell(ServerStep::checkpoint, 0);
    const auto told = saved();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].failure, "");
    const auto names = files().list();
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (std::vector<server::CheckpointName>{{1, position_, 2, kOurShard}}));
    EXPECT_TRUE(take_letters().empty());
}

TEST_F(SavingTest, AShardIsSaidToBeSavedWhenTheNextNodeHasItsCopy) {
    keep_files();
    begin();
    tell(ServerStep::checkpoint, 0);
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.kind, LetterKind::checkpoint);
    EXPECT_EQ(letters[0].bytes, contents(files().path_of({1, position_, 2, kOurShard})));
    EXPECT_TRUE(told_.take<control::ServerSaved>().empty()) << "there is one copy only";
    answer(letters[0], LetterKind::kept);
    const auto told = saved();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].failure, "");
}

TEST_F(SavingTest, ACopyThatTheNextNodeCouldNotKeepFailsTheCheckpointAndNamesTheNode) {
    keep_files();
    begin();
    tell(ServerStep::checkpoint, 0);
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    answer(take_letters().at(0), LetterKind::kept, 1);
    const auto told = saved();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].failure.find("'other' could not keep a copy"), std::string::npos);
}

TEST_F(SavingTest, ACompleteCheckpointHasOlderOnesRemovedAndAFailedOneDoesNot) {
    keep_files();
    options_.checkpoint_copies = 1;
    begin();
    tell(ServerStep::checkpoint, 0);
    saved();
    const uint64_t first = position_;
    tell(ServerStep::checkpoint, 0);
    saved();
    end(position_, "the disk of another node is full", 0);
    services_.disk.run([] {});
    EXPECT_EQ(files().list()->size(), 2U);
    end(position_, {}, 0);
    ASSERT_TRUE(until([this] { return files().list()->size() == 1; }));
    EXPECT_GT(files().list()->front().position, first);
}

// ------------------------------------------------------------------------ copies for other nodes

TEST_F(SavingTest, ACopyForAnotherNodeIsKeptAsItCame) {
    keep_files();
    begin();
    const std::vector<std::byte> file(5000, std::byte{7});
    send_file(4, file);
    EXPECT_EQ(answer_to_file().rank, 0U);
    EXPECT_EQ(contents(files().path_of({1, 4, 2, kTheirShard})), file);
    EXPECT_EQ(services_.accounts->used_by(kUser).bytes, kHalf * sizeof(float)) << "the shard alone";
}

TEST_F(SavingTest, ACopyThatCannotBeKeptIsAnsweredSo) {
    begin();
    testing::internal::CaptureStderr();
    send_file(4, std::vector<std::byte>(100));
    EXPECT_EQ(answer_to_file().rank, 1U);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("keeps no checkpoints"), std::string::npos) << log;
}

TEST_F(SavingTest, ACopyForWhichItsUserHasNoRoomIsAnsweredSoAndCostsNothing) {
    keep_files();
    services_.accounts = Accounts::create({.user_bytes_max = 1000});
    begin();
    testing::internal::CaptureStderr();
    send_file(4, std::vector<std::byte>(5000));
    EXPECT_EQ(answer_to_file().rank, 1U);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("user_bytes_max"), std::string::npos) << log;
    EXPECT_FALSE(job_->state().wants_view) << "the model goes on";
    EXPECT_TRUE(files().list()->empty());
}

// ------------------------------------------------------------------------------- saved models

TEST_F(SavingTest, ASavedModelIsToldOfWhenAViewIsPreparedAndLoadedWhenAViewSaysSo) {
    keep_files();
    options_.checkpoint_copies = 1;
    begin();
    push(0, 5);
    answer(take_letters().at(0), LetterKind::held);
    tell(ServerStep::push, 0);
    tell(ServerStep::checkpoint, 0);
    saved();
    job_->prepare({.job = kJob, .epoch = 2, .token = kServedToken});
    std::vector<control::ViewPrepared> prepared;
    ASSERT_TRUE(until([&] {
        for (auto& one : told_.take<control::ViewPrepared>()) prepared.push_back(one);
        return !prepared.empty();
    }));
    ASSERT_EQ(prepared[0].server.saved.size(), 1U);
    const control::SavedModel& model = prepared[0].server.saved[0];
    EXPECT_EQ(model.generation, 1U);
    EXPECT_EQ(model.there, std::vector<uint32_t>{kOurShard});
    EXPECT_EQ(model.ledger.position, position_);

    view_.generation = 2;
    view_.saved_generation = 1;
    view_.model_begins = true;
    view_.ledger = model.ledger;
    commit();
    const uint64_t id = pull(1);
    const control::ServerEntry pulled = entry(ServerStep::pull, 1);
    tell(pulled);
    send({.kind = LetterKind::part, .shard = kTheirShard, .clock = 1, .position = pulled.position},
         std::vector<float>(kHalf, 4));
    ASSERT_TRUE(until([&] { return port_.ended(id); }));
    EXPECT_EQ(outcome_of(id), Outcome::done) << message_of(id);
    EXPECT_EQ(this->model(), halves(5, 4));
}

TEST_F(SavingTest, ATornFileIsNotLoadedAndTheNodeSaysThatItsPartIsOfNoUse) {
    keep_files();
    options_.checkpoint_copies = 1;
    begin();
    tell(ServerStep::checkpoint, 0);
    saved();
    const std::string path = files().path_of({1, position_, 2, kOurShard});
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    view_.generation = 2;
    view_.saved_generation = 1;
    view_.model_begins = true;
    commit();
    ASSERT_TRUE(until([this] { return job_->state().wants_view; }));
    EXPECT_FALSE(job_->keeps_shards());
}

}  // namespace
}  // namespace pace::daemon
