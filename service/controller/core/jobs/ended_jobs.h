// EndedJobs: the tokens of the jobs that ended last. A daemon that was away when its job ended may
// still keep data of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace pace::controller {

class EndedJobs {
  public:
    // A guess: more jobs than end while any daemon is away.
    static constexpr size_t kRememberedMax = 4096;

    void add(uint64_t token) {
        if (!tokens_.insert(token).second) return;
        by_age_.push_back(token);
        if (by_age_.size() <= kRememberedMax) return;
        tokens_.erase(by_age_.front());
        by_age_.pop_front();
    }
    bool contains(uint64_t token) const { return tokens_.contains(token); }

  private:
    std::unordered_set<uint64_t> tokens_;
    std::deque<uint64_t> by_age_;
};

}  // namespace pace::controller
