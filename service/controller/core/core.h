// Core: the controller's state machine. Pure: (state, event, now) gives (state, actions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// Limits, so that no user can occupy the whole controller. A job counts as many workers as its
// world has, joined or not, and one more for every 16 edges of a communication graph.
struct JobLimits {
    uint32_t jobs = 4096;
    uint32_t jobs_of_user = 256;
    uint64_t workers = 262'144;
    uint64_t workers_of_user = 65'536;
};

// The settings that an operator may tune; zero means default.
struct CoreOptions {
    uint64_t seed = 1;  // of all random choices except tokens
    // A silent node is excluded after at most this time.
    Duration liveness_max = std::chrono::seconds(2);
    Duration liveness_min = std::chrono::milliseconds(500);
    Duration probe_wait = std::chrono::milliseconds(30);  // a suspect must answer in time
    // A worker stopped by a signal is suspended after this time.
    Duration stopped_wait = std::chrono::seconds(2);
    // A job whose workers all died is kept this long.
    Duration abandoned_keep = std::chrono::minutes(10);
    uint32_t recent_groups = 256;  // the most that status shows per job
    // Sums also use relays in zones known only from measurements.
    bool relay_measured_zones = false;
    // A job that nobody has joined is kept this long.
    Duration unjoined_keep = std::chrono::hours(24);
    JobLimits limits{};
};

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

    // Work counters for benchmarks and metrics.
    struct Counters {
        uint64_t signals = 0;
        uint64_t groups = 0;
        uint64_t bridged_groups = 0;  // groups changed to bridge components
        uint64_t views = 0;
    };
    const Counters& counters() const;

  private:
    struct State;
    CoreOptions options_;
    uint64_t (*make_token_)();
    std::unique_ptr<State> state_;
};

}  // namespace pace::controller
