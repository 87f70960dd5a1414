// Ledger: what several trainers must agree upon, and what went wrong in a world.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "clockwork.h"

namespace pace::world {

class Ledger {
  public:
    explicit Ledger(const Clockwork& clockwork) : clockwork_(clockwork) {}

    void wrong(const std::string& what);
    // What happens, for a person who looks at one run: told, and put in words, only if the log
    // tells of everything.
    bool tells() const { return base::log_level() >= base::LogLevel::debug; }
    template <typename... Values>
    void tell(fmt::format_string<Values...> text, Values&&... values) const {
        if (tells()) base::log_debug(timed(fmt::format(text, std::forward<Values>(values)...)), {});
    }
    const std::vector<std::string>& wrongs() const { return wrongs_; }

    // All who say this with the same name and number must say the same value. It counts once `who`
    // has gone on from it: a node that was cut off may end a round that the others make anew, but
    // then its workers are told that they are stale (docs/decisions/0030-no-result-in-doubt.md).
    void agree(const std::string& name, uint64_t run, uint64_t number, uint64_t value,
               const std::string& who);
    // `who` has made a call at `called_at` that has now ended well. It goes on from all that it
    // said before, and it goes on in spite of the disputes that were known when it called: an
    // earlier call may wait in a frozen daemon and end with what was decided before.
    void went_on(const std::string& who, base::TimePoint called_at);
    // `who` begins anew from another model: its process or its daemon has died, or it was told that
    // it is stale. What it has said before binds nobody but those who said the same: if all of them
    // are lost, the rounds after the model that is left are made anew.
    void begins_anew(const std::string& who);

    // What the run did, for its report and to compare replays.
    void count_call() { ++calls_; }
    void count_fault() { ++faults_; }
    uint64_t calls() const { return calls_; }
    uint64_t faults() const { return faults_; }
    void trace(uint64_t value) { hash_ = hashed(hash_, value); }
    uint64_t hash() const { return hash_; }

  private:
    // Who says something, and the how manieth begin of theirs it is.
    using Speakers = std::map<std::string, uint64_t>;
    struct Said {
        uint64_t value = 0;
        Speakers by;
    };
    // Two values where there must be one. It is wrong once some of both sides go on: those of one
    // side may be frozen, or cut off, and begin anew as soon as they hear.
    struct Dispute {
        std::string text;
        base::TimePoint began;
        Speakers sides[2];
        bool goes_on[2] = {false, false};
    };
    std::string timed(const std::string& what) const;
    void settle_disputes(const std::string& who, base::TimePoint called_at);
    void say(const std::string& who, uint64_t value, Said& said, const std::string& what);

    const Clockwork& clockwork_;
    std::vector<std::string> wrongs_;
    using What = std::tuple<std::string, uint64_t, uint64_t>;
    std::map<What, Said> said_;
    std::map<std::string, std::vector<std::pair<What, uint64_t>>> claims_;  // by who claims
    std::map<std::string, uint64_t> begins_;  // how often each has begun anew
    std::vector<Dispute> disputes_;
    uint64_t calls_ = 0;
    uint64_t faults_ = 0;
    uint64_t hash_ = kHashBegin;
};

}  // namespace pace::world
