// What is checked of a call before any buffer is looked at.
#include "libclient/requests/operation.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using base::ErrorKind;
using protocol::Verb;

KnownJob job(const std::string& policy) {
    return *known_job(AskedOptions("train", 4, policy));
}

// Returns the kind of the error, or `internal` if the operation may begin.
ErrorKind refusal(Verb verb, const KnownJob& of) {
    const std::vector<Slice> slices(1);
    Operation operation;
    operation.verb = verb;
    operation.slices = slices;
    const auto checked = check(operation, of);
    return checked ? ErrorKind::internal : checked.error().kind;
}

std::string message(const Operation& operation) {
    const auto checked = check(operation, job("partial-reduce"));
    if (checked) return "";
    EXPECT_EQ(checked.error().kind, ErrorKind::invalid);
    return checked.error().message;
}

TEST(Operation, HasAVerbOfTheJobsFamily) {
    constexpr ErrorKind kNone = ErrorKind::internal;
    constexpr ErrorKind kVerb = ErrorKind::verb;
    struct Row {
        const char* policy;
        ErrorKind average, reduce, push, residual;
    };
    for (const Row& row : {Row{"all-reduce", kVerb, kNone, kVerb, kVerb},
                           Row{"partial-reduce", kNone, kVerb, kVerb, kVerb},
                           Row{"ssp", kVerb, kVerb, kNone, kVerb}}) {
        const KnownJob of = job(row.policy);
        EXPECT_EQ(refusal(Verb::average, of), row.average) << row.policy;
        EXPECT_EQ(refusal(Verb::reduce, of), row.reduce) << row.policy;
        EXPECT_EQ(refusal(Verb::push, of), row.push) << row.policy;
        EXPECT_EQ(refusal(Verb::residual_save, of), row.residual) << row.policy;
        EXPECT_EQ(refusal(Verb::sync, of), kNone) << row.policy;
    }
}

TEST(Operation, TheDaemonJudgesPoliciesOfALaterRelease) {
    const KnownJob of = job("later-policy");
    for (const Verb verb : {Verb::average, Verb::reduce, Verb::push, Verb::residual_load})
        EXPECT_EQ(refusal(verb, of), ErrorKind::internal);
    EXPECT_TRUE(check_has_groups(of));
}

TEST(Operation, OnlyGroupsAreAnnounced) {
    EXPECT_TRUE(check_has_groups(job("partial-reduce")));
    for (const char* const policy : {"all-reduce", "ssp"})
        EXPECT_EQ(check_has_groups(job(policy)).error().kind, ErrorKind::verb) << policy;
}

TEST(Operation, NamesASensibleNumberOfSlices) {
    Operation operation;
    operation.verb = Verb::average;
    EXPECT_EQ(message(operation), "count is 0; give 1 to 256 slices");
    const std::vector<Slice> many(protocol::kBuffersPerExchangeMax + 1);
    operation.slices = many;
    EXPECT_EQ(message(operation), "count is 257; give 1 to 256 slices");
    operation.slices = operation.slices.first(protocol::kBuffersPerExchangeMax);
    EXPECT_EQ(message(operation), "");
    Operation barrier;
    EXPECT_EQ(message(barrier), "");
}

TEST(Operation, TheRootIsAWorker) {
    const std::vector<Slice> slices(1);
    Operation operation;
    operation.verb = Verb::broadcast;
    operation.slices = slices;
    operation.root = 4;
    EXPECT_EQ(message(operation), "root is 4; it must be less than world, which is 4");
    operation.root = 3;
    EXPECT_EQ(message(operation), "");
}

TEST(Operation, ResultsApartFitTheCall) {
    const std::vector<Slice> slices(2);
    Operation operation;
    operation.verb = Verb::average;
    operation.slices = slices;
    operation.results = slices;
    EXPECT_EQ(message(operation), "");
    operation.results = operation.results.first(1);
    EXPECT_EQ(message(operation),
              "options->call.result_count is 1, but count is 2; give a result for each slice, or "
              "none");
    operation.keep_local = true;
    EXPECT_NE(message(operation).find("options->keep_local is 1"), std::string::npos);
    operation.verb = Verb::broadcast;
    EXPECT_NE(message(operation).find("has no result apart"), std::string::npos);
}

}  // namespace
}  // namespace pace::client
