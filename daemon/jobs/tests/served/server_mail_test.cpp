// Letters between two nodes of a server job: what comes, in which order, and what becomes of them
// when the view or the connection ends.
#include "daemon/families/serving/shards/server_mail.h"

#include <string>
#include <utility>
#include <vector>

#include "daemon/jobs/tests/other_node_fixture.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using server::Letter;
using server::LetterKind;

constexpr uint64_t kMailElements = 4096;

class ServerMailTest : public WithOtherNode {
  protected:
    static constexpr uint64_t kMailToken = 5;
    static constexpr NodeId kStranger = 9;

    ~ServerMailTest() override {
        mail_.close(base::make_error(ErrorKind::canceled, "the test is over"));
        other_mail_.close(base::make_error(ErrorKind::canceled, "the test is over"));
        transport_->end();
        other_transport_->end();
    }
    void open(uint64_t epoch) {
        listen();
        mail_.open(kMailToken, epoch, {kSelf, kOther});
        other_mail_.open(kMailToken, epoch, {kSelf, kOther});
    }
    void all_arrives() {
        for (int quiet = 0; quiet < 5; ++quiet)
            if (loop_->turn(false)) quiet = 0;
    }
    // To this node, with `count` floats of this value.
    void send(uint64_t clock, size_t count, float value) {
        Letter letter{.kind = LetterKind::model, .clock = clock};
        const auto kept = std::make_shared<const std::vector<float>>(count, value);
        const auto bytes = server::name_elements(*kept, letter);
        other_mail_.send(kSelf, letter, {kept, bytes});
    }
    // Sends as the other node would, whatever the bytes say.
    void send_raw(uint64_t epoch, uint32_t slot, std::span<const std::byte> bytes) {
        const uint64_t number =
            exchange_number(kMailToken, ExchangeKind::mail, epoch, uint64_t{kSelf} << 32U | kOther);
        other_transport_->send(*other_peers_.peer(kSelf), {number, slot, 0}, bytes,
                               [](const base::Result<>&) {});
    }
    uint64_t left_over() const {
        return transport_->counters().messages_unexpected +
               other_transport_->counters().messages_unexpected;
    }

    const Payer payer_{Accounts::create(), 0};
    std::vector<std::pair<uint64_t, std::vector<float>>> come_;  // by clock
    std::vector<std::pair<NodeId, ErrorKind>> broken_;
    ServerMail::Received act_;  // what else happens when a letter comes
    ServerMail mail_{
        services_,
        kMailElements,
        payer_,
        [this](NodeId from, const Letter& letter, Parcel parcel) {
            EXPECT_EQ(from, kOther);
            const auto* const first = reinterpret_cast<const float*>(parcel.bytes.data());
            come_.push_back({letter.clock, {first, first + letter.count}});
            if (act_) act_(from, letter, std::move(parcel));
        },
        [](NodeId, const Letter&, const base::Error& error) { ADD_FAILURE() << error.message; },
        [this](NodeId node, const base::Error& error) { broken_.emplace_back(node, error.kind); }};
    ServerMail other_mail_{other_services_,
                           kMailElements,
                           {Accounts::create(), 0},
                           [](NodeId, const Letter&, const Parcel&) {},
                           [](NodeId, const Letter&, const base::Error&) {},
                           [](NodeId, const base::Error&) {}};
};

TEST_F(ServerMailTest, BringsLettersInTheirOrderWhateverTheirSizes) {
    open(1);
    const std::vector<size_t> counts = {0, kMailElements, 1, 0, 2000, 3};
    for (size_t i = 0; i < counts.size(); ++i) send(i, counts[i], static_cast<float>(i));
    all_arrives();
    ASSERT_EQ(come_.size(), counts.size());
    for (size_t i = 0; i < counts.size(); ++i) {
        EXPECT_EQ(come_[i].first, i);
        EXPECT_EQ(come_[i].second, std::vector<float>(counts[i], static_cast<float>(i)));
    }
    EXPECT_EQ(payer_.accounts->bytes_used(), 0U) << "their contents are gone";
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(ServerMailTest, LosesWhatIsUnderWayWhenTheViewEndsAndLeavesNothingBehind) {
    open(1);
    send(1, kMailElements, 1);
    send(2, 1, 1);
    open(2);
    send(3, 1, 1);
    all_arrives();
    ASSERT_EQ(come_.size(), 1U);
    EXPECT_EQ(come_[0].first, 3U);
    EXPECT_TRUE(broken_.empty()) << "a view that ends is no failure";
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(ServerMailTest, DropsWhatComesForAViewThatHasEndedHere) {
    open(1);
    mail_.open(kMailToken, 2, {kSelf, kOther});
    send(1, 1, 1);
    send(2, 1, 1);
    all_arrives();
    EXPECT_TRUE(come_.empty());
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(ServerMailTest, SaysOnceThatAConnectionIsGone) {
    open(1);
    peers_.forget(kOther);
    all_arrives();
    EXPECT_EQ(broken_, (std::vector{std::pair(kOther, ErrorKind::unavailable)}));
    mail_.send(kOther, {.kind = LetterKind::held});
    all_arrives();
    EXPECT_EQ(broken_.size(), 1U);
}

TEST_F(ServerMailTest, SaysWhichNodeItCannotReach) {
    listen();
    mail_.open(kMailToken, 1, {kSelf, kStranger, kOther});
    EXPECT_EQ(broken_, (std::vector{std::pair(kStranger, ErrorKind::unavailable)}));
    mail_.send(kStranger, {.kind = LetterKind::update});
    const auto much_later = base::now() + std::chrono::hours(1);
    EXPECT_TRUE(mail_.overdue(much_later, {}).empty()) << "nothing is due from nobody";
    other_mail_.open(kMailToken, 1, {kSelf, kOther});
    send(1, 1, 1);
    all_arrives();
    EXPECT_EQ(come_.size(), 1U) << "the others are reached";
}

// The receiver of a letter may find that the model is of no use.
TEST_F(ServerMailTest, MayBeClosedByTheReceiverOfALetter) {
    open(1);
    act_ = [this](NodeId, const Letter&, const Parcel&) {
        mail_.close(base::make_error(ErrorKind::aborted, "of no use"));
    };
    send(1, 10, 1);
    send(2, 10, 1);
    all_arrives();
    EXPECT_EQ(come_.size(), 1U);
    EXPECT_TRUE(broken_.empty());
    EXPECT_EQ(left_over(), 0U);
}

// ---------------------------------------------------------------------------------- what is due

TEST_F(ServerMailTest, KnowsFromWhomLettersAreDue) {
    open(1);
    const auto overdue = [this] { return mail_.overdue(base::now() + std::chrono::hours(1), {}); };
    mail_.expect(kStranger);
    EXPECT_TRUE(overdue().empty());
    mail_.expect(kOther);
    mail_.expect(kOther);
    ASSERT_EQ(overdue().size(), 1U);
    EXPECT_EQ(overdue()[0].node, kOther);
    EXPECT_FALSE(overdue()[0].moving);
    Letter part{.kind = LetterKind::part};
    other_mail_.send(kSelf, part);
    all_arrives();
    EXPECT_EQ(overdue().size(), 1U) << "one is still to come";
    send(7, 10, 1);
    all_arrives();
    EXPECT_EQ(overdue().size(), 1U) << "a letter of another kind";
    other_mail_.send(kSelf, part);
    all_arrives();
    EXPECT_TRUE(overdue().empty());
}

// A large message stays with its sender until this node asks for it.
TEST_F(ServerMailTest, KnowsThatAContentIsUnderWay) {
    mail_.open(kMailToken, 1, {kSelf, kOther});
    const Letter letter{.kind = LetterKind::model, .count = 2000, .bytes = 8000};
    send_raw(1, 0, server::write_head(letter));
    listen();
    all_arrives();
    const auto overdue = mail_.overdue(base::now() + std::chrono::hours(1), {});
    ASSERT_EQ(overdue.size(), 1U);
    EXPECT_TRUE(overdue[0].moving);
    EXPECT_EQ(payer_.accounts->bytes_used(), 8000U) << "as much as the head says";
}

// -------------------------------------------------------------------------- peers that are broken

TEST_F(ServerMailTest, EndsAtAContentThatIsNotWhatItsHeadSays) {
    for (const size_t bytes : {size_t{0}, size_t{36}, size_t{44}, size_t{100'000}}) {
        broken_.clear();
        const auto epoch = static_cast<uint64_t>(bytes + 1);
        listen();
        mail_.open(kMailToken, epoch, {kSelf, kOther});
        const std::vector<std::byte> content(bytes);
        send_raw(epoch, 0,
                 server::write_head({.kind = LetterKind::model, .count = 10, .bytes = 40}));
        send_raw(epoch, 1, content);
        all_arrives();
        EXPECT_EQ(broken_, (std::vector{std::pair(kOther, ErrorKind::mismatch)})) << bytes;
        EXPECT_TRUE(come_.empty());
        EXPECT_EQ(payer_.accounts->bytes_used(), 0U);
    }
}

TEST_F(ServerMailTest, EndsAtAHeadOfAnotherSize) {
    listen();
    mail_.open(kMailToken, 1, {kSelf, kOther});
    send_raw(1, 0, std::vector<std::byte>(server::kLetterBytes + 1));
    all_arrives();
    EXPECT_EQ(broken_, (std::vector{std::pair(kOther, ErrorKind::mismatch)}));
}

TEST_F(ServerMailTest, MakesNoRoomForMoreThanAModelHas) {
    const std::vector<Letter> greedy = {
        {.kind = LetterKind::update, .count = kMailElements + 1, .bytes = 4 * kMailElements + 4},
        {.kind = LetterKind::part, .count = UINT64_MAX / 4, .bytes = UINT64_MAX - 3},
        {.kind = LetterKind::update, .sparse = true, .count = 1, .bytes = 1000},
        {.kind = LetterKind::held, .bytes = 4},
        {.kind = LetterKind::checkpoint, .bytes = server::checkpoint_bytes_max(kMailElements) + 1}};
    uint64_t epoch = 0;
    for (const Letter& letter : greedy) {
        broken_.clear();
        listen();
        mail_.open(kMailToken, ++epoch, {kSelf, kOther});
        send_raw(epoch, 0, server::write_head(letter));
        all_arrives();
        EXPECT_EQ(broken_, (std::vector{std::pair(kOther, ErrorKind::corrupt)})) << epoch;
        EXPECT_EQ(payer_.accounts->bytes_used(), 0U);
        EXPECT_EQ(left_over(), 0U);
    }
    EXPECT_TRUE(come_.empty());
}

}  // namespace
}  // namespace pace::daemon
