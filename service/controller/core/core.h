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

// What may be there at once, so that no user takes the controller from the others. A job counts as many workers as its world has, whether
// they have joined or not, and one more for every 16 edges of a communication graph.
struct JobLimits {
    uint32_t jobs = 4096;
    uint32_t jobs_of_user = 256;
    uint64_t workers = 262'144;
    uint64_t workers_of_user = 65'536;
};

// What an operator may tune; zero means default.
struct CoreOptions {
    uint64_t seed = 1;  // of every random choice, tokens excepted
    Duration liveness_max =
        std::chrono::seconds(2);  // a silent node is excluded after at most this
    Duration liveness_min = std::chrono::milliseconds(500);
    Duration probe_wait = std::chrono::milliseconds(30);  // a suspect must answer within this
    Duration stopped_wait =
        std::chrono::seconds(2);  // a worker stopped by a signal is suspended after this
    Duration abandoned_keep =
        std::chrono::minutes(10);  // a job whose workers all died is kept this long
    uint32_t recent_groups = 256;  // groups of each job that status shows at most
    bool relay_measured_zones =
        false;  // sums take relays in zones that only measurements tell, too
    Duration unjoined_keep =
        std::chrono::hours(24);  // a job that nobody has joined is kept this long
    JobLimits limits{};
};

// A reading of the whole state for status displays; built on demand, never on the hot path.
struct StatusView;

class Core {
  public:
    // `make_token` gives unguessable non-zero numbers (a job's secret).
    Core(CoreOptions options, uint64_t (*make_token)());
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Applies one event and appends what is to be done. Never fails: nonsense from a node is
    // ignored or answered with a refusal, and said in a Note.
    void handle(const Event& event, TimePoint now, Actions& actions);

    // When the next Tick is needed; none if nothing is waiting.
    std::optional<TimePoint> next_deadline() const;

    // Feeds the journal's records back after a restart, oldest first, before any event. Nodes and
    // workers that were members must announce themselves again; groups form as soon as the job's
    // members are back or their liveness deadline has passed.
    base::Result<> replay(std::span<const std::byte> record);
    void replay_finished(TimePoint now);

    // The records that rebuild the hard state as it is: what a shell may write in place of a
    // journal that has grown long.
    std::vector<std::vector<std::byte>> journal_snapshot() const;

    // Forgets all that is not in journal_snapshot(), as a controller does that is killed and started again: every node and worker
    // announces itself anew. For a controller that has not run for so long that they have given it up.
    void begin_anew(TimePoint now);

    // An operator takes a node out of use: its workers leave their jobs, and no others join there; or, with `draining` false, puts it back.
    // Fails with not_found if no node of that name is known. Nothing happens to one that is so already.
    base::Result<> set_draining(const std::string& node, bool draining, TimePoint now,
                                Actions& actions);

    // Ends a job that no worker is in, whosever it is. Fails with not_found, or taken.
    base::Result<> delete_job(const std::string& name, TimePoint now, Actions& actions);

    // Everything, for people: takes milliseconds in a large cluster. Include core/status.h.
    StatusView status(TimePoint now) const;
    bool has_job(const std::string& name) const;
    size_t jobs() const;

    // Work counters for benchmarks and metrics.
    struct Counters {
        uint64_t signals = 0;
        uint64_t groups = 0;
        uint64_t bridged_groups = 0;  // groups that the filter changed to bridge components
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
