// Letters that other nodes send about a model: a broken peer changes nothing, and what comes too
// late counts nowhere.
#include <array>
#include <string>
#include <vector>

#include "daemon/jobs/tests/served/served_job_fixture.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {
namespace {

using control::ServerStep;
using protocol::Outcome;
using server::Letter;
using server::LetterKind;

class LettersTest : public ServedJob {
  protected:
    // The log while `act` runs.
    template <typename Act>
    static std::string log_of(Act act) {
        testing::internal::CaptureStderr();
        act();
        return testing::internal::GetCapturedStderr();
    }
    static size_t lines(const std::string& log, const std::string& words) {
        size_t count = 0;
        for (size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1))
            ++count;
        return count;
    }
    // Worker 1, on the other node, pulls. Returns the part that this node sends.
    Came pull_there(uint64_t clock) {
        control::ServerEntry pulled = entry(ServerStep::pull, clock);
        pulled.worker.rank = 1;
        tell(pulled);
        const auto letters = take_letters();
        EXPECT_EQ(letters.size(), 1U);
        return letters.empty() ? Came{} : letters[0];
    }
    uint64_t paid() const { return services_.accounts->used_by(kUser).bytes; }
};

TEST_F(LettersTest, WithoutSenseAreLoggedAndChangeNothing) {
    begin();
    const uint64_t before = paid();
    std::vector<Letter> torn;
    torn.push_back({.kind = LetterKind::held, .shard = 2});
    torn.push_back({.kind = LetterKind::update, .shard = 2, .rank = 1});
    torn.push_back({.kind = LetterKind::update, .shard = kTheirShard, .rank = 1});
    torn.push_back({.kind = LetterKind::model, .shard = kTheirShard});
    torn.push_back({.kind = LetterKind::update, .shard = kOurShard, .rank = 1});
    torn.push_back({.kind = LetterKind::model, .shard = kOurShard, .clock = 3});
    const std::string log = log_of([&] {
        // A shard has more elements.
        for (const Letter& letter : torn) send(letter, {1, 2, 3});
    });
    EXPECT_EQ(lines(log, "a letter about a model makes no sense"), 1U) << log;
    EXPECT_EQ(counters_.letters_refused, torn.size());
    EXPECT_TRUE(take_letters().empty()) << "an update is answered that is not held";
    EXPECT_EQ(paid(), before);
    EXPECT_FALSE(job_->state().wants_view);
    EXPECT_TRUE(broken_.empty()) << "later letters come";
    for (const float value : pull_there(0).values()) EXPECT_EQ(value, 0);
}

TEST_F(LettersTest, WithEntriesThatDoNotParseAreLoggedAndNotAnswered) {
    begin();
    Letter letter{.kind = LetterKind::update, .shard = kOurShard, .rank = 1, .generation = 1};
    letter.sparse = true;
    letter.count = 2;
    letter.bytes = 24;
    const std::string log = log_of([&] {
        for (const int byte : {0x00, 0x01, 0x80, 0xFF}) {
            const auto kept =
                std::make_shared<const std::vector<std::byte>>(24, static_cast<std::byte>(byte));
            mail_.send(kSelf, letter, {kept, *kept});
            all_arrives();
        }
    });
    EXPECT_EQ(lines(log, "a letter about a model makes no sense"), 1U) << log;
    EXPECT_EQ(counters_.letters_refused, 4U);
    EXPECT_TRUE(take_letters().empty());
}

TEST_F(LettersTest, OfAnotherModelAreDropped) {
    begin();
    const std::string log = log_of([&] {
        view_.generation = 9;
        send({.kind = LetterKind::update, .shard = kOurShard, .rank = 1},
             std::vector<float>(kHalf, 1));
        view_.generation = 1;
    });
    EXPECT_EQ(log, "") << "the other node only knows another view";
    EXPECT_TRUE(take_letters().empty());
}

TEST_F(LettersTest, WithAnUpdateAreAnsweredAndTheUpdateCountsOnceItIsOrdered) {
    begin();
    Letter update{.kind = LetterKind::update, .shard = kOurShard, .rank = 1, .clock = 4};
    update.position = 11;
    send(update, std::vector<float>(kHalf, 6));
    const auto letters = take_letters();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.kind, LetterKind::held);
    EXPECT_EQ(letters[0].letter.clock, 4U);
    EXPECT_EQ(letters[0].letter.position, 11U) << "the number of the push";
    for (const float value : pull_there(4).values()) EXPECT_EQ(value, 0) << "it has no place yet";
    control::ServerEntry pushed = entry(ServerStep::push, 4);
    pushed.worker.rank = 1;
    tell(pushed);
    const Came part = pull_there(5);
    EXPECT_EQ(part.letter.kind, LetterKind::part);
    EXPECT_EQ(part.letter.rank, 1U);
    EXPECT_EQ(part.letter.clock, 5U);
    EXPECT_EQ(part.values(), std::vector<float>(kHalf, 6));
}

// The trainer's call does not wait for what cannot come.
TEST_F(LettersTest, WithPartsThatNobodyAskedForEndNoPull) {
    begin();
    const uint64_t id = pull(0);
    const control::ServerEntry pulled = entry(ServerStep::pull, 0);
    tell(pulled);
    Letter part{.kind = LetterKind::part, .shard = kTheirShard, .position = pulled.position};
    const auto comes = [&](Letter letter, size_t count) {
        send(letter, std::vector<float>(count, 9));
    };
    Letter other = part;
    other.rank = 5;
    comes(other, kHalf);
    other = part;
    other.clock = 1;
    comes(other, kHalf);
    other = part;
    other.position += 1;
    comes(other, kHalf);
    comes(part, kHalf - 1);
    comes(part, kServed);
    EXPECT_FALSE(port_.ended(id));
    EXPECT_EQ(model(), std::vector<float>(kServed, -1)) << "its buffers are as they were";
    send(part, std::vector<float>(kHalf, 4));
    EXPECT_EQ(outcome_of(id), Outcome::done);
    EXPECT_EQ(model(), halves(0, 4));
}

// The update is read beside the loop. Its worker's successor begins at the same step.
TEST_F(LettersTest, WithAnUpdateOfAWorkerThatHasLeftMeanwhileAreNotAnswered) {
    services_.options.inline_bytes_max = 0;
    begin();
    const std::vector<float> values(kHalf, 6);
    Letter letter{.kind = LetterKind::update, .shard = kOurShard, .rank = 1, .generation = 1};
    const auto bytes = server::name_elements(values, letter);
    mail_.send(kSelf, letter, {nullptr, bytes});
    while (network_.progress()) continue;  // the update has come, and the loop has not turned
    control::ServerEntry left = entry(ServerStep::leave, 0);
    left.worker.rank = 1;
    tell(left);
    for (const Came& came : take_letters()) EXPECT_NE(came.letter.kind, LetterKind::held);
}

// The other node may say that it does not hear this one. Then this node's word decides.
TEST_F(LettersTest, ThatAreNotAnsweredHaveThisNodeSayForWhomItWaits) {
    services_.options.answer_wait = std::chrono::milliseconds(150);
    begin();
    push(0, 1);
    EXPECT_EQ(take_letters().size(), 1U);
    (void)job_->look_again();
    EXPECT_TRUE(told_.take<control::Stalled>().empty()) << "it may answer yet";
    ASSERT_TRUE(until([this] {
        (void)job_->look_again();
        return job_->state().wants_view;
    }));
    const auto stalled = told_.take<control::Stalled>();
    ASSERT_EQ(stalled.size(), 1U);
    EXPECT_EQ(stalled[0].job, kJob);
    EXPECT_EQ(stalled[0].waiting_for, std::vector<NodeId>{kOther});
}

// ------------------------------------------------------------------------- heads that do not parse

class TornHead : public LettersTest, public testing::WithParamInterface<size_t> {
  protected:
    // Sends a head as the other node would, byte by byte as it is here.
    void send_head(const server::LetterHead& head) {
        mail_.close(base::make_error(base::ErrorKind::aborted, "the test writes its own letters"));
        // The letters of a view in which this node has heard nothing yet.
        ++view_.epoch;
        job_->commit(view_);
        const uint64_t number = exchange_number(kServedToken, ExchangeKind::mail, view_.epoch,
                                                uint64_t{kSelf} << 32U | kOther);
        other_transport_->send(*other_peers_.peer(kSelf), {number, 0, 0}, head,
                               [](const base::Result<>&) {});
        all_arrives();
    }
    static server::LetterHead honest() {
        return server::write_head({.kind = LetterKind::update, .generation = 1});
    }
};

// Each of these bytes is beyond what a letter may have there.
TEST_P(TornHead, EndsTheWayAndAsksForAnotherView) {
    begin();
    const uint64_t before = paid();
    server::LetterHead head = honest();
    head[GetParam()] = std::byte{0xEE};
    const std::string log = log_of([&] { send_head(head); });
    EXPECT_EQ(lines(log, "the way of letters about a model is broken"), 1U) << log;
    EXPECT_TRUE(job_->state().wants_view);
    EXPECT_EQ(paid(), before) << "room was made for what a broken peer says";
    EXPECT_TRUE(job_->keeps_shards()) << "the model is as it was";
}

INSTANTIATE_TEST_SUITE_P(Bytes, TornHead,
                         testing::Values(0,    // the kind
                                         1,    // the form
                                         2,    // zeros
                                         12,   // zeros
                                         48,   // the count
                                         55,   // its highest byte
                                         56,   // the bytes
                                         63),  // their highest byte
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace pace::daemon
