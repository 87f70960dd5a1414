#include "daemon/clients/write_marks.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

using protocol::WriteState;

class WriteMarksTest : public testing::Test {
  protected:
    WriteMarksTest() {
        auto memory = base::MappedMemfd::create("marks", layout_.bytes(), true);
        EXPECT_TRUE(memory) << memory.error().message;
        memory_ = std::make_shared<base::MappedMemfd>(std::move(*memory));
        marks_ = WriteMarks(memory_, layout_, connection_);
    }
    // The state as the trainer reads it; no mark means untouched.
    WriteState found(uint64_t request) const {
        const auto* first =
            reinterpret_cast<const protocol::WriteMark*>(memory_->data() + layout_.marks());
        for (uint32_t i = 0; i < layout_.slots; ++i)
            if (first[i].request.load() == request)
                return static_cast<WriteState>(first[i].state.load());
        return WriteState::untouched;
    }

    protocol::RingLayout layout_{4, 2};
    std::shared_ptr<base::MappedMemfd> memory_;
    std::shared_ptr<base::UniqueFd> connection_ = std::make_shared<base::UniqueFd>();
    WriteMarks marks_;
};

TEST_F(WriteMarksTest, TellHowFarARequestsBuffersAre) {
    const WriteMarkPtr mark = marks_.take(77);
    EXPECT_EQ(found(77), WriteState::untouched);
    mark->writing();
    EXPECT_EQ(found(77), WriteState::writing);
    mark->whole();
    EXPECT_EQ(found(77), WriteState::whole);
    marks_.release(77);
    EXPECT_EQ(found(77), WriteState::untouched);
}

// An exchange holds its marks for a moment longer than the requests last.
TEST_F(WriteMarksTest, OfARequestThatHasEndedChangeNoOthers) {
    const WriteMarkPtr old = marks_.take(1);
    marks_.release(1);
    const WriteMarkPtr next = marks_.take(2);
    old->writing();
    EXPECT_EQ(found(2), WriteState::untouched);
    next->writing();
    old->whole();
    EXPECT_EQ(found(2), WriteState::writing);
}

TEST_F(WriteMarksTest, AreGivenToAsManyAsThereAreSlots) {
    for (uint64_t request = 1; request <= 4; ++request) EXPECT_NE(marks_.take(request), nullptr);
    EXPECT_EQ(marks_.take(5), nullptr);
    marks_.release(3);
    EXPECT_NE(marks_.take(5), nullptr);
}

// A trainer that sees the end of its connection reads the marks, and takes them for final.
TEST_F(WriteMarksTest, KeepTheConnectionUntilNothingWritesAnyMore) {
    WriteMarkPtr mark = marks_.take(1);
    const std::weak_ptr<base::UniqueFd> open = connection_;
    connection_.reset();
    marks_ = WriteMarks();
    EXPECT_FALSE(open.expired());
    mark.reset();
    EXPECT_TRUE(open.expired());
}

TEST_F(WriteMarksTest, OutliveTheSession) {
    const WriteMarkPtr mark = marks_.take(1);
    marks_ = WriteMarks();
    mark->writing();
    EXPECT_EQ(found(1), WriteState::writing);
}

}  // namespace
}  // namespace pace::daemon
