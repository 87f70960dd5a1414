// Checkpoints: when a server job's model is saved, and the state of the saving.
//
// At most one checkpoint is being made at a time. A checkpoint begins at an interval, if something
// has changed, and when a worker asks. It is complete when every shard's part is durable. A change
// of view or a failed part ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/serving/server.h"

namespace pace::controller {

// A checkpoint that is being made.
struct OpenCheckpoint {
    uint64_t position = 0;
    std::set<uint32_t> missing;  // shards not yet saved
    std::vector<CheckpointAnswer> answers;
};

class Checkpoints {
  public:
    struct Last {
        uint64_t position = 0;
        TimePoint when;
    };

    // `every` is 0 for checkpoints on request only.
    explicit Checkpoints(Duration every) : every_(every) {}

    // Replaces an earlier request of this rank. The checkpoint must include the rank's first `own`
    // updates.
    void ask(Rank rank, uint64_t own) { asked_[rank] = own; }
    void forget(Rank rank) { asked_.erase(rank); }

    bool at_interval() const { return every_ != Duration::zero(); }
    // Starts the interval.
    void start(TimePoint now) { began_ = now; }
    bool is_due(const Server& order, TimePoint now) const;
    // When the interval ends; none if nothing has changed.
    std::optional<TimePoint> next_due(const Server& order) const;
    // Begins a checkpoint, which the order has at this position, of `shards` shards.
    void begin(uint64_t position, size_t shards, const Server& order, TimePoint now);
    // The message to send if this report is the last part or a failed one; none otherwise. The
    // caller sets the destinations.
    std::optional<CheckpointEnded> saved(const From<ServerSaved>& event, TimePoint now);
    // Abandons the checkpoint, since the model's nodes change. Waiting workers ask again.
    void abandon();

    const std::optional<Last>& last() const { return last_; }
    // The reason if the last checkpoint failed; empty otherwise.
    const std::string& failure() const { return failure_; }

  private:
    bool has_changed(const Server& order) const;

    Duration every_;
    std::map<Rank, uint64_t> asked_;
    TimePoint began_{};
    uint64_t pushes_ = 0;  // at the last checkpoint begun, if it has not failed
    std::optional<OpenCheckpoint> saving_;
    std::optional<Last> last_;
    std::string failure_;
};

}  // namespace pace::controller
