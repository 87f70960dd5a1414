// Core: the controller's state machine. Pure: (state, event, now) gives (state, actions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "service/controller/vocabulary/core_options.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// The whole state for status displays; built on demand, never on the hot path.
struct StatusView;

class Core {
  public:
    // `make_token` returns unguessable non-zero numbers (a job's secret).
    Core(CoreOptions options, uint64_t (*make_token)());
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Applies one event and appends the resulting actions. Never fails: an invalid message from a
    // node is ignored or refused, and reported in a Note.
    void handle(const Event& event, TimePoint now, Actions& actions);

    // When the next Tick is needed; none if nothing is pending.
    std::optional<TimePoint> next_deadline() const;

    // Replays the journal's records after a restart, oldest first, before any event. Nodes and
    // workers that were members must announce themselves again. Groups form as soon as the job's
    // members are back or their liveness deadline has passed.
    base::Result<> replay(std::span<const std::byte> record);
    void replay_finished(TimePoint now);

    // Returns the records that rebuild the present hard state. A shell may replace a long journal
    // with them.
    std::vector<std::vector<std::byte>> journal_snapshot() const;

    // Forgets everything that is not in journal_snapshot(), like a controller that is killed and
    // restarted: every node and worker announces itself anew. For a controller that did not run for
    // so long that the daemons have given it up.
    void begin_anew(TimePoint now);

    // An operator takes a node out of use, or, with `draining` false, puts it back. The workers of
    // a drained node leave their jobs, and no others join there. Fails with not_found if no node of
    // this name is known. Does nothing if the node is already in this state.
    base::Result<> set_draining(const std::string& node, bool draining, TimePoint now,
                                Actions& actions);

    // Ends a job without workers, whoever owns the job. Errors: not_found, taken.
    base::Result<> delete_job(const std::string& name, TimePoint now, Actions& actions);

    // The whole state, for people: takes milliseconds in a large cluster. Include core/status.h.
    StatusView status(TimePoint now) const;
    bool has_job(const std::string& name) const;
    size_t jobs() const;

    using Counters = CoreCounters;
    const Counters& counters() const;

  private:
    struct State;
    CoreOptions options_;
    uint64_t (*make_token_)();
    std::unique_ptr<State> state_;
};

}  // namespace pace::controller
