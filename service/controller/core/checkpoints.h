// Checkpoints: when a server job's model is saved, and how far that is.
//
// One at a time: at an interval, if something has changed, and when somebody asks. A checkpoint is whole when every shard's part is
// durable; a change of view, or a part that fails, ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/server.h"

namespace pace::controller {

// One that is being made.
struct OpenCheckpoint {
    uint64_t position = 0;
    std::set<uint32_t> missing;  // shards
    std::vector<CheckpointAnswer> answers;
};

class Checkpoints {
  public:
    struct Last {
        uint64_t position = 0;
        TimePoint when;
    };

    // `every` is 0 for those alone that are asked for.
    explicit Checkpoints(Duration every) : every_(every) {}

    // Replaces what this rank has asked for before.
    void ask(Rank rank, uint64_t own) { asked_[rank] = own; }
    void forget(Rank rank) { asked_.erase(rank); }

    bool at_interval() const { return every_ != Duration::zero(); }
    // The interval begins.
    void start(TimePoint now) { began_ = now; }
    bool is_due(const Server& order, TimePoint now) const;
    // At the interval; none if nothing has changed.
    std::optional<TimePoint> next_due(const Server& order) const;
    // The order has this position for it, of so many shards.
    void begin(uint64_t position, size_t shards, const Server& order, TimePoint now);
    // What there is to say, when a part of it is the last one or has failed; its addressees are the caller's.
    std::optional<CheckpointEnded> saved(const From<ServerSaved>& event, TimePoint now);
    // The model's nodes are others: whoever waits asks again.
    void abandon();

    const std::optional<Last>& last() const { return last_; }
    // Of the last one that failed, if none has been made since.
    const std::string& failure() const { return failure_; }

  private:
    bool has_changed(const Server& order) const;

    Duration every_;
    std::map<Rank, uint64_t> asked_;
    TimePoint began_{};
    uint64_t pushes_ = 0;  // in the last one that was begun, and has not failed
    std::optional<OpenCheckpoint> saving_;
    std::optional<Last> last_;
    std::string failure_;
};

}  // namespace pace::controller
