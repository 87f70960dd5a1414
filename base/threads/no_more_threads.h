// NoMoreThreads: as long as the object lives, this process can begin no thread. For tests. It does
// not work under a sanitizer, which needs memory itself.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "base/sanitized.h"

namespace pace::base {

class NoMoreThreads {
  public:
    static constexpr bool possible() { return !kSanitized; }

    // A new thread needs memory for its stack, and RLIMIT_AS leaves none. The library may have kept
    // stacks of earlier threads: the constructor begins threads until these stacks are used up.
    NoMoreThreads() {
        taken_.reserve(kMost);
        getrlimit(RLIMIT_AS, &before_);
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlimit none{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)), before_.rlim_max};
        setrlimit(RLIMIT_AS, &none);
        try {
            while (taken_.size() < kMost) taken_.emplace_back([this] { end_.wait(); });
        } catch (const std::system_error&) {
            is_so_ = true;
        }
    }
    ~NoMoreThreads() {
        setrlimit(RLIMIT_AS, &before_);
        end_.count_down();
        for (std::thread& thread : taken_) thread.join();
    }
    NoMoreThreads(const NoMoreThreads&) = delete;
    NoMoreThreads& operator=(const NoMoreThreads&) = delete;

    bool is_so() const { return is_so_; }

  private:
    static constexpr size_t kMost = 64;

    rlimit before_{};
    std::latch end_{1};
    std::vector<std::thread> taken_;
    bool is_so_ = false;
};

}  // namespace pace::base
