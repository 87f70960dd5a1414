// Letters about a model from a node of the job that lies: each kind from a node without the role
// that the kind needs, with numbers that cannot be, and too often.
#include <memory>
#include <string>
#include <vector>

#include "daemon/jobs/tests/served/served_job_fixture.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/server/checkpoint_folder.h"
#include "daemon/server/tests/test_folder.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using server::Letter;
using server::LetterKind;

constexpr NodeId kThird = 3;

// The third node has a worker and a shard, and says nothing. The other node may lie about both.
class LyingLetters : public ServedJob {
  protected:
    static constexpr uint32_t kThirdShard = 2;
    static constexpr control::Rank kTheirRank = 1;
    static constexpr control::Rank kThirdRank = 2;

    LyingLetters() {
        (void)peers_.know(kThird, "third", third_transport_->address());
        options_.world = 3;
        view_.members.push_back({kThirdRank, kThird, 0, 0});
        view_.shards.push_back(kThird);
        services_.options.checkpoints = folder_.path();
        testing::internal::CaptureStderr();
    }
    ~LyingLetters() override {
        if (!has_log_) (void)testing::internal::GetCapturedStderr();
        job_.reset();
        transport_->end();
        third_transport_->end();
    }

    static uint64_t count_of(uint32_t shard) {
        return server::Partition(kServed, 3).range(shard).size();
    }
    void lie(const Letter& letter, size_t count = 0) { send(letter, std::vector<float>(count, 9)); }
    // Sends content that is no elements.
    void lie_in_bytes(Letter letter, size_t count) {
        letter.generation = view_.generation;
        letter.bytes = count;
        const auto kept = std::make_shared<const std::vector<std::byte>>(count);
        mail_.send(kSelf, letter, {kept, *kept});
        all_arrives();
    }
    // Nothing has come of what the other node said, but a line of the log.
    void expect_dropped(uint64_t times) {
        EXPECT_EQ(counters_.letters_refused, times);
        has_log_ = true;
        const std::string log = testing::internal::GetCapturedStderr();
        const size_t at = log.find("a letter about a model makes no sense");
        EXPECT_NE(at, std::string::npos) << log;
        EXPECT_EQ(log.find("a letter about a model makes no sense", at + 1), std::string::npos)
            << "told more than once: " << log;
        EXPECT_NE(log.find("peer=other"), std::string::npos) << log;
        EXPECT_TRUE(take_letters().empty()) << "it is answered";
        EXPECT_FALSE(job_->state().wants_view) << "the job is disturbed";
        EXPECT_TRUE(job_->keeps_shards());
        EXPECT_TRUE(broken_.empty());
    }
    std::vector<server::CheckpointName> files() const {
        const auto names = server::CheckpointFolder(folder_.path(), kUser, "served").list();
        return names ? *names : std::vector<server::CheckpointName>();
    }
    bool all_written() {
        bool done = false;
        disk_.run([&, post = loop_->poster()] { post([&] { done = true; }); });
        return until([&] { return done; });
    }

    const server::TestFolder folder_;
    std::unique_ptr<transports::MemoryTransport> third_transport_ = network_.create();
    bool has_log_ = false;
};

// It knows the job's token, and sends under the number of another node's letters.
TEST_F(LyingLetters, OfANodeThatIsNotInTheViewAreNotHeard) {
    view_.members.pop_back();
    view_.shards.pop_back();
    begin();
    const uint64_t number = exchange_number(kServedToken, ExchangeKind::mail, view_.epoch,
                                            uint64_t{kSelf} << 32U | kOther);
    const server::LetterHead head = server::write_head(
        {.kind = LetterKind::update, .shard = kOurShard, .rank = kTheirRank, .generation = 1});
    const auto us = third_transport_->connect(transport_->address());
    ASSERT_TRUE(us);
    third_transport_->send(*us, {number, 0, 0}, head, [](const base::Result<>&) {});
    all_arrives();
    EXPECT_EQ(transport_->counters().messages_unexpected, 1U) << "nobody asks for it";
    EXPECT_EQ(counters_.letters_refused, 0U);
    EXPECT_TRUE(take_letters().empty());
    lie({.kind = LetterKind::update, .shard = kOurShard, .rank = kTheirRank}, kHalf);
    EXPECT_EQ(take_letters().size(), 1U) << "the other node's letter is heard as ever";
}

// The update of the third node's shard would be lost, and the model with it.
TEST_F(LyingLetters, HeldIsSaidByTheShardsNodeAlone) {
    begin();
    push(0, 1);
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    answer(letters[0], LetterKind::held);
    Came third = letters[0];
    third.letter.shard = kThirdShard;
    answer(third, LetterKind::held);
    EXPECT_TRUE(told_.take<control::ServerStored>().empty());
    expect_dropped(1);
}

TEST_F(LyingLetters, HeldIsSaidOfWorkersHereAlone) {
    begin();
    lie({.kind = LetterKind::held, .shard = kTheirShard, .rank = kThirdRank});
    lie({.kind = LetterKind::held, .shard = kTheirShard, .rank = 77});
    expect_dropped(2);
}

TEST_F(LyingLetters, APartComesFromTheShardsNodeAlone) {
    begin();
    const uint64_t id = pull(0);
    const control::ServerEntry pulled = entry(ServerStep::pull, 0);
    tell(pulled);
    Letter part{.kind = LetterKind::part, .shard = kTheirShard, .position = pulled.position};
    lie(part, count_of(kTheirShard));
    part.shard = kThirdShard;
    lie(part, count_of(kThirdShard));
    part.shard = kOurShard;
    lie(part, count_of(kOurShard));
    EXPECT_FALSE(port_.ended(id));
    expect_dropped(2);
}

TEST_F(LyingLetters, APartIsForAWorkerHereAndNotLongerThanItsShard) {
    begin();
    Letter part{.kind = LetterKind::part, .shard = kTheirShard, .rank = kThirdRank};
    lie(part, count_of(kTheirShard));
    part.rank = 0;
    lie(part, count_of(kTheirShard) + 1);
    part.sparse = true;
    part.count = 1;
    lie_in_bytes(part, 16);
    expect_dropped(3);
}

TEST_F(LyingLetters, PartsOfManyPositionsAreNotAllKept) {
    begin();
    const uint64_t id = pull(0);
    tell(ServerStep::pull, 0);
    const uint64_t before = services_.accounts->used_by(kUser).bytes;
    for (uint64_t position = 2; position < 100; ++position)
        lie({.kind = LetterKind::part, .shard = kTheirShard, .position = position},
            count_of(kTheirShard));
    EXPECT_FALSE(port_.ended(id));
    EXPECT_LE(services_.accounts->used_by(kUser).bytes,
              before + Pull::kPositionsMax * kServed * sizeof(float));
}

TEST_F(LyingLetters, AnUpdateComesFromItsWorkersNodeAlone) {
    begin();
    for (const control::Rank rank : {0U, kThirdRank, 77U})
        lie({.kind = LetterKind::update, .shard = kOurShard, .rank = rank}, count_of(kOurShard));
    expect_dropped(3);
}

TEST_F(LyingLetters, AnUpdateHasItsShardsElementsAndAClockThatCanBe) {
    begin();
    Letter update{.kind = LetterKind::update, .shard = kOurShard, .rank = kTheirRank};
    lie(update, count_of(kOurShard) - 1);
    lie(update, count_of(kOurShard) + 1);
    update.clock = LetterRoles::kClocksAhead + 1;
    lie(update, count_of(kOurShard));
    update.clock = UINT64_MAX;
    lie(update, count_of(kOurShard));
    update.clock = 0;
    update.sparse = true;
    update.count = count_of(kOurShard) + 1;
    lie_in_bytes(update, 64);
    expect_dropped(5);
}

// Ahead of the order, a worker has as many updates as an honest node lets it have.
TEST_F(LyingLetters, UpdatesFarAheadTakeNoMemoryThatTheirUserMayNotHave) {
    services_.accounts = Accounts::create({.user_bytes_max = 200});
    begin();
    for (uint64_t clock = 0; clock < 100; ++clock)
        lie({.kind = LetterKind::update, .shard = kOurShard, .rank = kTheirRank, .clock = clock},
            count_of(kOurShard));
    EXPECT_LE(services_.accounts->used_by(kUser).bytes, 200U + Pushes::kWindow * 16U);
    EXPECT_TRUE(job_->keeps_shards()) << "the model is given up";
    EXPECT_FALSE(job_->state().wants_view);
    EXPECT_GT(counters_.letters_refused, 0U);
}

// This node has a worker, so it has the model; and the other node is not the first with a worker.
TEST_F(LyingLetters, AModelComesFromTheFirstNodeWithAWorkerToNodesWithoutOne) {
    begin();
    lie({.kind = LetterKind::model, .shard = kOurShard, .clock = 5}, count_of(kOurShard));
    view_.members = {{0, kThird, 0, 0}, {1, kOther, 0, 0}};
    commit();
    lie({.kind = LetterKind::model, .shard = kOurShard, .clock = 5}, count_of(kOurShard));
    expect_dropped(2);
}

TEST_F(LyingLetters, AModelHasItsShardsElements) {
    view_.members = {{1, kOther, 0, 0}, {2, kThird, 0, 0}};
    begin();
    lie({.kind = LetterKind::model, .shard = kOurShard, .clock = 5}, count_of(kOurShard) - 1);
    expect_dropped(1);
}

// The other node is to have its copies at the third node.
TEST_F(LyingLetters, ACopyComesFromTheNodeBeforeAlone) {
    begin();
    lie_in_bytes({.kind = LetterKind::checkpoint, .shard = kTheirShard, .position = 4}, 50);
    lie_in_bytes({.kind = LetterKind::checkpoint, .shard = kThirdShard, .position = 4}, 50);
    lie_in_bytes({.kind = LetterKind::checkpoint, .shard = kOurShard, .position = 4}, 50);
    ASSERT_TRUE(all_written());
    EXPECT_TRUE(files().empty());
    expect_dropped(3);
}

TEST_F(LyingLetters, NoCopiesComeInAJobThatKeepsNone) {
    options_.checkpoint_copies = 1;
    view_.members.pop_back();
    view_.shards.pop_back();
    begin();
    lie_in_bytes({.kind = LetterKind::checkpoint, .shard = kTheirShard, .position = 4}, 50);
    ASSERT_TRUE(all_written());
    EXPECT_TRUE(files().empty());
    expect_dropped(1);
}

// Nobody would remove these files.
TEST_F(LyingLetters, CopiesOfPositionsWhereNothingIsSavedDoNotFillTheDisk) {
    view_.members.pop_back();
    view_.shards.pop_back();
    begin();
    for (uint64_t position = 1000; position < 1020; ++position)
        lie_in_bytes({.kind = LetterKind::checkpoint, .shard = kTheirShard, .position = position},
                     50);
    ASSERT_TRUE(all_written());
    EXPECT_EQ(files().size(), Copies::kUnnamedMax);
    EXPECT_EQ(counters_.letters_refused, 20 - Copies::kUnnamedMax);
}

// Older checkpoints would be removed, and this one would not be there.
TEST_F(LyingLetters, KeptIsSaidByTheNodeThatHasTheCopyAndOnce) {
    begin();
    tell(ServerStep::checkpoint, 0);
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    const Came copy = take_letters().at(0);
    Letter kept = copy.letter;
    kept.kind = LetterKind::kept;
    kept.bytes = 0;
    Letter lies = kept;
    lies.shard = kTheirShard;
    lie(lies);
    lies = kept;
    lies.position += 1;
    lie(lies);
    lies = kept;
    lies.rank = 7;
    lie(lies);
    lies = kept;
    lies.position = 0;
    lie(lies);
    EXPECT_TRUE(told_.take<control::ServerSaved>().empty());
    lie(kept);
    lie(kept);
    EXPECT_EQ(told_.take<control::ServerSaved>().size(), 1U);
    expect_dropped(3);
}

TEST_F(LyingLetters, AnswersHaveNoElements) {
    begin();
    lie({.kind = LetterKind::held, .shard = kTheirShard}, 1);
    lie({.kind = LetterKind::kept, .shard = kOurShard}, 1);
    expect_dropped(2);
}

// A node that lies all the time is told of once, and what it says truly is heard.
TEST_F(LyingLetters, ThatComeAllTheTimeAreToldOfOnceAndTheTruthBetweenThemIsHeard) {
    begin();
    for (int i = 0; i < 100; ++i) lie({.kind = LetterKind::held, .shard = kThirdShard, .rank = 77});
    lie({.kind = LetterKind::update, .shard = kOurShard, .rank = kTheirRank}, count_of(kOurShard));
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.kind, LetterKind::held);
    expect_dropped(100);
}

}  // namespace
}  // namespace pace::daemon
