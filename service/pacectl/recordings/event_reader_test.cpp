#include "service/pacectl/recordings/event_reader.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

// A controller's ring of events with bounded room.
class Ring {
  public:
    void add(const std::string& job = "a") {
        ++number_;
        events_.push_back({{"number", number_},
                           {"at_unix_ms", start_ms_ + number_},
                           {"kind", "worker-joined"},
                           {"severity", "info"},
                           {"job", job},
                           {"rank", 1U},
                           {"node", nullptr},
                           {"text", "here"}});
        if (events_.size() > 4) events_.erase(events_.begin());
    }
    void restart() {
        number_ = 0;
        events_ = Json::array();
        start_ms_ += 1'000'000;
    }
    Json status() const {
        return {
            {"events", events_},
            {"events_first", events_.empty() ? number_ + 1 : events_[0]["number"].get<uint64_t>()}};
    }

  private:
    uint64_t number_ = 0;
    uint64_t start_ms_ = 1'700'000'000'000;
    Json events_ = Json::array();
};

std::vector<uint64_t> numbers(const NewEvents& found) {
    std::vector<uint64_t> all;
    for (const Json& event : found.events) all.push_back(event["number"].get<uint64_t>());
    return all;
}

using Numbers = std::vector<uint64_t>;

TEST(EventReader, GivesEachEventOnce) {
    Ring ring;
    EventReader reader({}, "");
    EXPECT_EQ(numbers(reader.read(ring.status())), Numbers{});
    ring.add();
    ring.add();
    EXPECT_EQ(numbers(reader.read(ring.status())), (Numbers{1, 2}));
    EXPECT_EQ(numbers(reader.read(ring.status())), Numbers{});
    ring.add();
    const NewEvents found = reader.read(ring.status());
    EXPECT_EQ(numbers(found), (Numbers{3}));
    EXPECT_EQ(found.dropped_last, 0U);
    EXPECT_FALSE(found.is_restarted);
}

TEST(EventReader, SaysOnceWhatWasDropped) {
    Ring ring;
    for (int i = 0; i < 9; ++i) ring.add();
    EXPECT_EQ(EventReader({}, "").read(ring.status()).dropped_last, 0U) << "nobody asked for them";
    EventReader reader(2, "");
    NewEvents found = reader.read(ring.status());
    EXPECT_EQ(found.dropped_first, 3U);
    EXPECT_EQ(found.dropped_last, 5U);
    EXPECT_EQ(numbers(found), (Numbers{6, 7, 8, 9}));
    found = reader.read(ring.status());
    EXPECT_EQ(found.dropped_last, 0U);
    for (int i = 0; i < 6; ++i) ring.add();
    found = reader.read(ring.status());
    EXPECT_EQ(found.dropped_first, 10U);
    EXPECT_EQ(found.dropped_last, 11U);
    EXPECT_EQ(numbers(found), (Numbers{12, 13, 14, 15}));
}

TEST(EventReader, BeginsAfterTheNumberThatIsKnown) {
    Ring ring;
    for (int i = 0; i < 3; ++i) ring.add();
    EXPECT_EQ(numbers(EventReader(1, "").read(ring.status())), (Numbers{2, 3}));
    EXPECT_EQ(numbers(EventReader(3, "").read(ring.status())), Numbers{});
    EXPECT_EQ(numbers(EventReader(0, "").read(ring.status())), (Numbers{1, 2, 3}));
}

TEST(EventReader, SeesThatAnotherControllerCounts) {
    Ring ring;
    EventReader reader({}, "");
    for (int i = 0; i < 3; ++i) ring.add();
    reader.read(ring.status());
    ring.restart();
    ring.add();
    NewEvents found = reader.read(ring.status());
    EXPECT_TRUE(found.is_restarted);
    EXPECT_EQ(numbers(found), (Numbers{1}));
    EXPECT_FALSE(reader.read(ring.status()).is_restarted);
    // Another controller that has come further than the first.
    ring.restart();
    for (int i = 0; i < 3; ++i) ring.add();
    found = reader.read(ring.status());
    EXPECT_TRUE(found.is_restarted);
    EXPECT_EQ(numbers(found), (Numbers{1, 2, 3}));
}

TEST(EventReader, GivesOneJobsAndForgetsNoOthers) {
    Ring ring;
    EventReader reader({}, "b");
    ring.add("a");
    ring.add("b");
    EXPECT_EQ(numbers(reader.read(ring.status())), (Numbers{2}));
    ring.add("a");
    EXPECT_EQ(numbers(reader.read(ring.status())), Numbers{});
    EXPECT_EQ(reader.read(ring.status()).dropped_last, 0U);
}

TEST(EventReader, NothingOfAnOlderControllerIsAnEvent) {
    EXPECT_FALSE(has_events(Json::object()));
    EXPECT_TRUE(EventReader({}, "").read(Json::object()).events.empty());
    EXPECT_FALSE(event_line(Json::object()).empty());
}

TEST(EventReader, ALineSaysOnceWhomItIsAbout) {
    Json event = {{"number", 7U},
                  {"at_unix_ms", 0U},
                  {"kind", "worker-lost"},
                  {"job", "a\nb"},
                  {"rank", 0U},
                  {"node", nullptr},
                  {"severity", "warning"},
                  {"text", "its connection ended"}};
    EXPECT_NE(event_line(event).find("      7  warning  worker-lost         job a?b rank 0: its "
                                     "connection ended\n"),
              std::string::npos)
        << event_line(event);
    event["job"] = "shown";
    event["text"] = "job shown: rank 0 is lost";
    EXPECT_NE(event_line(event).find("  job shown: rank 0 is lost\n"), std::string::npos);
    EXPECT_EQ(event_line(event).find("shown rank"), std::string::npos);
}

}  // namespace
}  // namespace pace::pacectl
