// Sequence: which round comes next for a worker. Rounds are for all members. A worker that takes
// part without being told of missed rounds has missed none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pace::storms {

class Sequence {
  public:
    // Records a result of this worker that holds the last `rounds` rounds up to `group`. Returns
    // the error, or an empty string.
    std::string came(uint64_t group, uint64_t rounds) {
        std::string wrong;
        if (next_ && group + 1 != *next_ + rounds)
            wrong = "round " + std::to_string(group) + " ended well, with " +
                    std::to_string(rounds) + " rounds, where round " + std::to_string(*next_) +
                    " was next: it was not told what it missed";
        next_ = group + 1;
        return wrong;
    }
    // Records a result of which nothing else is known. Returns the number of its round, or 0 if the
    // number is unknown.
    uint64_t inherited() {
        if (!next_) return 0;
        return (*next_)++;
    }
    // The worker has got a model.
    void begin_anew() { next_.reset(); }

  private:
    std::optional<uint64_t> next_;
};

}  // namespace pace::storms
