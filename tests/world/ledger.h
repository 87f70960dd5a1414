// Ledger: what several trainers must agree upon, and what went wrong in a world.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/log/log.h"
#include "tests/world/clockwork.h"

namespace pace::world {

class Ledger {
  public:
    explicit Ledger(const Clockwork& clockwork) : clockwork_(clockwork) {}

    void wrong(const std::string& what);
    // Events, for a person who looks at one run. They are logged, and formatted, only at level
    // debug.
    bool tells() const { return base::log_level() >= base::LogLevel::debug; }
    template <typename... Values>
    void tell(fmt::format_string<Values...> text, Values&&... values) const {
        if (tells()) base::log_debug(timed(fmt::format(text, std::forward<Values>(values)...)), {});
    }
    const std::vector<std::string>& wrongs() const { return wrongs_; }

    // All workers that state a value for the same name, run and number must state the same value.
    // The statement counts once `who` has gone on from it. A node that was cut off may end a round
    // that the others repeat, but its workers are then told that they are stale
    // (docs/decisions/0030-no-result-in-doubt.md).
    void agree(const std::string& name, uint64_t run, uint64_t number, uint64_t value,
               const std::string& who);
    // `who` made a call at `called_at` that has now ended well. The worker goes on from all of its
    // earlier statements. It also goes on in spite of the disputes that were known when it made the
    // call. An earlier call may have waited in a frozen daemon, and then ends with what was decided
    // before the dispute.
    void went_on(const std::string& who, base::TimePoint called_at);
    // `who` begins again from another model: its process or its daemon has died, or it was told
    // that it is stale. Its earlier statements now bind only the workers that stated the same. If
    // all of these are lost, the rounds after the remaining model are repeated.
    void begins_anew(const std::string& who);

    // Nobody but the daemons and the workers knows any more how far the jobs are. If some of them
    // are lost, too, workers that have a model may meet others without one in a view. They call
    // other verbs, and are told so: then they are started anew.
    void lose_journal() { is_journal_lost_ = true; }
    bool may_differ(base::ErrorKind kind) const {
        return is_journal_lost_ && kind == base::ErrorKind::mismatch;
    }

    // Nobody can give `who` a model, and it goes on with its own parameters until it begins anew.
    // They need not be the others'.
    void keeps_parameters(const std::string& who) { own_parameters_.insert(who); }
    bool has_own_parameters(const std::string& who) const { return own_parameters_.contains(who); }

    // Counts of the run, for its report and to compare replays.
    void count_call() { ++calls_; }
    void count_fault() { ++faults_; }
    uint64_t calls() const { return calls_; }
    uint64_t faults() const { return faults_; }
    void trace(uint64_t value) { hash_ = hashed(hash_, value); }
    uint64_t hash() const { return hash_; }

  private:
    // The workers that stated a value, and for each how many times it had begun by then.
    using Speakers = std::map<std::string, uint64_t>;
    struct Said {
        uint64_t value = 0;
        Speakers by;
    };
    // Two values where there must be one. A dispute is wrong once workers of both sides go on. The
    // workers of one side may be frozen or cut off, and begin again as soon as they hear of the
    // other.
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
    std::set<std::string> own_parameters_;
    bool is_journal_lost_ = false;
    uint64_t calls_ = 0;
    uint64_t faults_ = 0;
    uint64_t hash_ = kHashBegin;
};

}  // namespace pace::world
