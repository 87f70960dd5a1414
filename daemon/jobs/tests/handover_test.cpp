// Residuals of a node that leaves: the next node gets them, and nothing that a broken node says
// about them.
#include "daemon/families/rounds/handover.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/collectives/messages/slots.h"
#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/members/handover_list.h"
#include "daemon/members/silent_job.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {
namespace {

// The other node leaves, and this one stays.
class HandoverTest : public WithOtherNode {
  protected:
    static constexpr uint64_t kDebtToken = 31;
    static constexpr uint64_t kDebtEpoch = 4;
    static constexpr uint32_t kDebtCheck = 0x44454254;  // on the wire

    HandoverTest() {
        for (JobState* job : {&job_, &other_job_}) {
            job->token = kDebtToken;
            job->view.epoch = kDebtEpoch;
            job->view.members = {{0, kSelf, 0, 0}};
        }
    }
    ~HandoverTest() override {
        transport_->end();
        other_transport_->end();
    }

    static control::JobOptions named() {
        control::JobOptions options;
        options.name = "owes";
        return options;
    }
    static Debt debt_of(uint64_t counts, size_t elements, float value) {
        const auto memory = std::make_shared<std::vector<float>>(elements, value);
        return {counts, *memory, memory};
    }
    void take() { successor_.commit_view({kOther}); }
    void leave() {
        leaver_.commit_view({kOther});
        ASSERT_TRUE(leaver_.is_leaving());
    }
    void all_arrives() {
        listen();
        for (int quiet = 0; quiet < 10; ++quiet)
            if (loop_->turn(false)) quiet = 0;
    }
    // Sends as the leaver would.
    void give_raw(uint64_t part, const std::vector<std::byte>& bytes) {
        const uint64_t number = part_number(
            exchange_number(kDebtToken, ExchangeKind::handover, job_.view.epoch, kOther), part);
        const uint32_t slot = collectives::slot(collectives::Phase::transfer, 0);
        other_transport_->send(*other_peers_.peer(kSelf), {number, slot, kDebtCheck}, bytes,
                               [](const base::Result<>&) {});
        all_arrives();
    }
    uint64_t left_over() const {
        return transport_->counters().messages_unexpected +
               other_transport_->counters().messages_unexpected;
    }
    Handover::Events events_to(std::vector<Debt>& debts) {
        return {[&debts](Debt debt) { debts.push_back(std::move(debt)); }, [this] { ++settled_; }};
    }
    static std::vector<float> values_of(const Debt& debt) {
        return {debt.values.begin(), debt.values.end()};
    }

    SilentJob silent_;
    JobState job_{services_, silent_, named(), 1000};
    JobState other_job_{other_services_, silent_, named(), 1000};
    std::vector<Debt> inherited_;
    std::vector<Debt> stayed_;  // with the leaver
    int settled_ = 0;
    Handover successor_{job_, events_to(inherited_)};
    Handover leaver_{other_job_, events_to(stayed_)};
};

TEST_F(HandoverTest, BringsEachResidualToTheNextNode) {
    take();
    EXPECT_TRUE(successor_.is_taking());
    leave();
    leaver_.give({debt_of(7, 1000, 1.5F), debt_of(8, 3, -2), debt_of(7, 20'000, 4)});
    EXPECT_FALSE(leaver_.is_leaving());
    all_arrives();
    ASSERT_EQ(inherited_.size(), 3U);
    std::ranges::sort(inherited_, {}, [](const Debt& debt) { return debt.values.size(); });
    EXPECT_EQ(values_of(inherited_[0]), std::vector<float>(3, -2));
    EXPECT_EQ(inherited_[0].counts, 8U);
    EXPECT_EQ(values_of(inherited_[1]), std::vector<float>(1000, 1.5F));
    EXPECT_EQ(values_of(inherited_[2]), std::vector<float>(20'000, 4));
    EXPECT_EQ(inherited_[2].counts, 7U);
    EXPECT_FALSE(successor_.is_taking());
    EXPECT_EQ(settled_, 1);
    EXPECT_TRUE(stayed_.empty());
    EXPECT_EQ(services_.accounts->used_by(1000).bytes, (3 + 1000 + 20'000) * sizeof(float));
    inherited_.clear();
    EXPECT_EQ(services_.accounts->used_by(1000).bytes, 0U);
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(HandoverTest, OfANodeThatOwesNothingSettlesAtOnce) {
    take();
    leave();
    leaver_.give({});
    all_arrives();
    EXPECT_EQ(settled_, 1);
    EXPECT_TRUE(inherited_.empty());
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(HandoverTest, BringsAsManyResidualsAsAListNames) {
    std::vector<Debt> many;
    for (size_t i = 0; i <= kDebtsMax; ++i) many.push_back(debt_of(i, 1, static_cast<float>(i)));
    take();
    leave();
    leaver_.give(std::move(many));
    all_arrives();
    EXPECT_EQ(inherited_.size(), kDebtsMax);
    EXPECT_EQ(left_over(), 0U);
}

// With node numbers 1 and 2, the next node after 2 is 1; after 1 it is 2.
TEST_F(HandoverTest, IsTheBusinessOfTheNextNodeAlone) {
    job_.view.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
    successor_.commit_view({3});
    EXPECT_TRUE(successor_.is_taking()) << "1 follows 3";
    other_job_.view.members = job_.view.members;
    leaver_.commit_view({3});
    EXPECT_FALSE(leaver_.is_taking());
    successor_.stop(base::make_error(base::ErrorKind::aborted, "the test is over"));
    all_arrives();
}

TEST_F(HandoverTest, ThatCannotBeginLeavesTheResidualsWhereTheyAre) {
    leave();
    other_peers_.set_cut(kSelf, true);
    leaver_.give({debt_of(7, 10, 1)});
    ASSERT_EQ(stayed_.size(), 1U);
    EXPECT_EQ(values_of(stayed_[0]), std::vector<float>(10, 1));
}

TEST_F(HandoverTest, OfANodeThatComesBackBeforeItCouldGiveIsEmpty) {
    take();
    leave();
    ++other_job_.view.epoch;
    leaver_.commit_view({});
    all_arrives();
    EXPECT_EQ(settled_, 1) << "the successor waits no more";
    EXPECT_TRUE(inherited_.empty());
    EXPECT_TRUE(stayed_.empty()) << "they were never taken away";
}

TEST_F(HandoverTest, ThatIsStoppedTakesNothingMore) {
    take();
    successor_.stop(base::make_error(base::ErrorKind::aborted, "excluded"));
    leave();
    leaver_.give({debt_of(7, 10, 1)});
    all_arrives();
    EXPECT_TRUE(inherited_.empty());
    EXPECT_FALSE(successor_.is_taking());
    EXPECT_FALSE(services_.active.any());
}

// --------------------------------------------------------------------------- leavers that are
// broken

TEST_F(HandoverTest, WithAListThatMakesNoSenseTakesNothing) {
    struct Torn {
        const char* why;
        size_t at;
        uint64_t value;
    };
    for (const Torn& torn : {Torn{"too many", 0, kDebtsMax + 1},
                             Torn{"more elements than any gradient has", 16, UINT64_MAX},
                             Torn{"something behind the last", kHandoverListBytes - 8, 1}}) {
        settled_ = 0;
        ++job_.view.epoch;  // each list has a number of its own
        take();
        std::vector<std::byte> list = write(std::vector<DebtSize>{{7, 10}});
        std::memcpy(list.data() + torn.at, &torn.value, sizeof(torn.value));
        testing::internal::CaptureStderr();
        give_raw(0, list);
        const std::string log = testing::internal::GetCapturedStderr();
        EXPECT_NE(log.find("what a node owes is lost here"), std::string::npos) << torn.why;
        EXPECT_EQ(settled_, 1) << torn.why;
        EXPECT_FALSE(services_.active.any()) << torn.why;
    }
    EXPECT_TRUE(inherited_.empty());
    EXPECT_EQ(services_.accounts->used_by(1000).bytes, 0U);
}

TEST_F(HandoverTest, WithAListOfAnotherSizeTakesNothing) {
    take();
    give_raw(0, std::vector<std::byte>(kHandoverListBytes - 1));
    EXPECT_EQ(settled_, 1);
    EXPECT_TRUE(inherited_.empty());
}

// One is larger than its user may have here. The other comes all the same.
TEST_F(HandoverTest, TakesWhatThereIsRoomFor) {
    services_.accounts = Accounts::create({.user_bytes_max = 1000});
    take();
    leave();
    testing::internal::CaptureStderr();
    leaver_.give({debt_of(7, 251, 1), debt_of(8, 250, 2)});
    all_arrives();
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("user_bytes_max"), std::string::npos) << log;
    ASSERT_EQ(inherited_.size(), 1U);
    EXPECT_EQ(inherited_[0].counts, 8U);
    EXPECT_EQ(settled_, 1);
}

TEST_F(HandoverTest, OfANodeThatDiesHalfwayKeepsWhatHasCome) {
    take();
    give_raw(0, write(std::vector<DebtSize>{{7, 2}, {8, 2}}));
    const std::vector<float> values{1, 2};
    const auto bytes = std::as_bytes(std::span(values));
    give_raw(1, {bytes.begin(), bytes.end()});
    ASSERT_EQ(inherited_.size(), 1U);
    EXPECT_EQ(values_of(inherited_[0]), values);
    EXPECT_TRUE(successor_.is_taking());
    const transports::PeerId peer = *services_.peers.connection(kOther);
    services_.active.each([&](const auto& taking) {
        taking->peer_lost(peer, base::make_error(base::ErrorKind::unavailable, "it is dead"));
    });
    all_arrives();
    EXPECT_FALSE(successor_.is_taking());
    EXPECT_EQ(settled_, 1);
    EXPECT_EQ(services_.accounts->used_by(1000).bytes, 2 * sizeof(float));
}

}  // namespace
}  // namespace pace::daemon
