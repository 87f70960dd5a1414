// Sequence: which round comes next for a worker. Rounds are for all members: whoever takes part without a word has missed none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pace::storms {

class Sequence {
  public:
    // A result of this worker, which holds the last `rounds` up to `group`; what is wrong with that, or nothing.
    std::string came(uint64_t group, uint64_t rounds) {
        std::string wrong;
        if (next_ && group + 1 != *next_ + rounds)
            wrong = "round " + std::to_string(group) + " ended well, with " +
                    std::to_string(rounds) + " rounds, where round " + std::to_string(*next_) +
                    " was next: it was not told what it missed";
        next_ = group + 1;
        return wrong;
    }
    // A result of which nothing else is known: the number of its round, 0 if that cannot be told.
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
