// SessionsFixture: sessions with a daemon in this process. Each test has a job of its own.
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <pace/pace.hpp>

namespace pace_cpp {

constexpr std::chrono::seconds kSoon(30);

class SessionsFixture : public ::testing::Test {
  protected:
    // Hides launchers and daemons that happen to run here from the tests. The variables are cleared
    // once, before a daemon has threads.
    SessionsFixture() {
        static const bool is_set = [] {
            for (const char* name :
                 {"PACE_ENDPOINT", "PACE_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"})
                ::unsetenv(name);
#if defined(PACE_TEST_LIBPACED)
            ::setenv("PACE_LIBPACED", PACE_TEST_LIBPACED, 1);
#endif
            return true;
        }();
        static_cast<void>(is_set);
    }

    static pace::session_options asked(std::uint32_t rank = 0, std::uint32_t world = 1,
                                       const std::string& policy = PACE_POLICY_ALL_REDUCE) {
        const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
        pace::session_options options;
        options.job = std::string(test->test_suite_name()) + "." + test->name();
        if (options.job.size() > 63) options.job.resize(63);
        options.policy = policy;
        options.rank = rank;
        options.world = world;
        options.endpoint = "embedded:";
        return options;
    }
    static pace::session open(std::uint32_t rank = 0, std::uint32_t world = 1) {
        return pace::session(asked(rank, world));
    }
};

}  // namespace pace_cpp
