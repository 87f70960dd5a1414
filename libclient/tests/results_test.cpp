// Results that go to other buffers than the inputs: how such results are named, checked, kept and
// copied.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::SubmissionEntry;
using protocol::Verb;

class ResultsTest : public SessionFixture {
  protected:
    void SetUp() override {
        Script script;
        script.on_submission = [this](Peer&, const SubmissionEntry& entry) { seen_ = entry; };
        start(std::move(script));
        session_ = open();
        given_ = make_buffer(*session_, 16).handle;
        result_ = make_buffer(*session_, 16).handle;
    }

    base::Result<RequestHandle> call(Verb verb, const std::vector<Slice>& slices,
                                     const std::vector<Slice>& results) {
        Operation operation;
        operation.verb = verb;
        operation.slices = slices;
        operation.results = results;
        return session_->submit(operation);
    }
    // Returns the error message of a refused call.
    std::string refusal(const std::vector<Slice>& slices, const std::vector<Slice>& results,
                        Verb verb = Verb::sync) {
        const auto request = call(verb, slices, results);
        if (request) return "not refused";
        EXPECT_EQ(request.error().kind, ErrorKind::invalid);
        return request.error().message;
    }
    // Returns the submission as the daemon has received it.
    SubmissionEntry submission_of(RequestHandle request) {
        SubmissionEntry entry{};
        while (entry.id != request.id) daemon_->with_peer([&](Peer&) { entry = seen_; });
        return entry;
    }
    void finish(RequestHandle request) {
        daemon_->with_peer([&](Peer& peer) { peer.complete_done(request.id); });
        wait(*session_, request);
    }

    SubmissionEntry seen_{};
    std::unique_ptr<Session> session_;
    BufferHandle given_;
    BufferHandle result_;
};

TEST_F(ResultsTest, FollowWhatIsGiven) {
    const auto request =
        call(Verb::average, {{given_, 0, 4}, {given_, 8, 2}}, {{result_, 12, 4}, {result_, 0, 2}});
    ASSERT_TRUE(request) << request.error().message;
    const SubmissionEntry told = submission_of(*request);
    EXPECT_EQ(told.slice_count, 2);
    EXPECT_EQ(told.out_of_place, 1);
    EXPECT_EQ(told.slices[1].first, 8U);
    EXPECT_EQ(told.slices[2].first, 12U);
    EXPECT_EQ(told.slices[3].count, 2U);
    EXPECT_EQ(told.slices[0].buffer + 1, told.slices[3].buffer);
    finish(*request);
    const auto next = call(Verb::average, {{given_}}, {});
    ASSERT_TRUE(next);
    EXPECT_EQ(submission_of(*next).out_of_place, 0) << "the next call is in place again";
}

TEST_F(ResultsTest, UnlikeWhatIsGivenAreRefusedByName) {
    const BufferHandle doubles = session_->create_buffer(protocol::DType::f64, 16)->handle;
    EXPECT_EQ(refusal({{given_}}, {{doubles}}),
              "options->call.results[0] has 16 elements of type f64, but slices[0] has 16 of type "
              "f32; give equal ones");
    EXPECT_EQ(refusal({{given_, 0, 2}, {given_, 2, 2}}, {{result_, 0, 2}, {result_, 2, 3}}),
              "options->call.results[1] has 3 elements of type f32, but slices[1] has 2 of type "
              "f32; give equal ones");
    EXPECT_EQ(refusal({{given_, 0, 2}, {given_, 2, 2}}, {{result_, 0, 2}}),
              "options->call.result_count is 1, but count is 2; give a result for each slice, or "
              "none");
    EXPECT_EQ(refusal({{given_, 0, 2}}, {{result_, 15, 2}}),
              "options->call.results[0].count is 2; give 1 to 1, or PACE_REST");
    // The refused calls left no claims.
    EXPECT_TRUE(call(Verb::sync, {{given_}}, {{result_}}));
}

TEST_F(ResultsTest, ThatMeetAnotherSliceAreRefused) {
    const std::string twice =
        "options->call.results[0] is named twice, at least in part; each element counts once, and "
        "a result in place is asked for by leaving out options->call.results";
    EXPECT_EQ(refusal({{given_}}, {{given_}}), twice);
    EXPECT_EQ(refusal({{given_, 0, 8}}, {{given_, 7, 8}}), twice);
    EXPECT_NE(refusal({{given_, 0, 2}, {given_, 2, 2}}, {{result_, 0, 2}, {result_, 1, 2}})
                  .find("results[1] is named twice"),
              std::string::npos);
    const auto first = call(Verb::sync, {{given_, 0, 8}}, {{result_, 0, 8}});
    ASSERT_TRUE(first);
    EXPECT_NE(refusal({{given_, 8, 8}}, {{result_, 7, 8}}).find("wait for that first"),
              std::string::npos);
    EXPECT_EQ(session_->free_buffer(result_).error().kind, ErrorKind::invalid);
    EXPECT_TRUE(call(Verb::sync, {{given_, 8, 8}}, {{result_, 8, 8}}));
    finish(*first);
    EXPECT_TRUE(call(Verb::sync, {{result_, 0, 8}}, {{given_, 0, 8}}));
}

TEST_F(ResultsTest, OfCopiesAreRefused) {
    Operation operation;
    operation.verb = Verb::average;
    const Slice given{given_};
    const Slice result{result_};
    operation.slices = {&given, 1};
    operation.results = {&result, 1};
    operation.keep_local = true;
    EXPECT_EQ(session_->submit(operation).error().message,
              "options->call.results is given and options->keep_local is 1, whose average goes to "
              "where the trainer goes on; leave one of them out");
}

TEST_F(ResultsTest, OfVerbsThatHaveNoneAreRefused) {
    for (const Verb verb : {Verb::broadcast, Verb::barrier})
        EXPECT_NE(
            refusal(verb == Verb::barrier ? std::vector<Slice>{} : std::vector<Slice>{{given_}},
                    {{result_}}, verb)
                .find("options->call.results is given, but a"),
            std::string::npos);
}

// The input is copied in from the trainer's own memory. The result is copied out to the memory that
// the call names.
TEST_F(ResultsTest, InMemoryOfTheTrainersOwnAreCopiedThere) {
    std::vector<float> given(16, 3);
    std::vector<float> result(16, -1);
    const auto import = [this](std::vector<float>& memory) {
        Imported imported;
        imported.pointer = reinterpret_cast<std::byte*>(memory.data());
        const auto made = session_->create_buffer(protocol::DType::f32, 16, 0, imported);
        EXPECT_TRUE(made) << made.error().message;
        return made->handle;
    };
    const BufferHandle outside = import(given);
    const BufferHandle outside_result = import(result);
    const auto request = call(Verb::sync, {{outside, 0, 8}}, {{outside_result, 4, 8}});
    ASSERT_TRUE(request) << request.error().message;
    const SubmissionEntry told = submission_of(*request);
    daemon_->with_peer([&](Peer& peer) {
        const auto* from =
            reinterpret_cast<const float*>(peer.buffers.at(told.slices[0].buffer).memory.data());
        auto* to = reinterpret_cast<float*>(peer.buffers.at(told.slices[1].buffer).memory.data());
        for (size_t i = 0; i < 8; ++i) to[4 + i] = from[i] + 1;
    });
    finish(*request);
    EXPECT_EQ(given, std::vector<float>(16, 3));
    std::vector<float> wanted(16, -1);
    std::fill_n(wanted.begin() + 4, 8, 4.0F);
    EXPECT_EQ(result, wanted);
}

// The inputs can be given again, whatever part of a result there is.
TEST_F(ResultsTest, AreWhatAGoneDaemonMayHaveTorn) {
    const auto request = call(Verb::sync, {{given_}}, {{result_}});
    ASSERT_TRUE(request);
    (void)submission_of(*request);
    daemon_->with_peer([&](Peer& peer) {
        auto* const mark =
            reinterpret_cast<protocol::WriteMark*>(peer.ring.data() + peer.layout.marks());
        mark->state = static_cast<uint32_t>(protocol::WriteState::writing);
        mark->request = request->id;
    });
    daemon_->kill();
    const RequestEnd end = wait(*session_, *request);
    EXPECT_EQ(end.contents, protocol::WriteState::writing);
    EXPECT_NE(end.message().find("the results hold part of the result: call again, what was given "
                                 "is as it was"),
              std::string_view::npos)
        << end.message();
}

}  // namespace
}  // namespace pace::client::testing
