// CheckpointFolder: the checkpoints of one job's shards that are on this daemon's disk, by generation, position and shard.
//
//     FOLDER/USER/JOB.model/GENERATION.POSITION.SHARD-of-SHARDS      all in digits, the first two in twenty of them
//
// Whatever else is in the folder is left alone. Blocks for the disk; one thread at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::server {

struct CheckpointName {
    uint64_t generation = 0;
    uint64_t position = 0;
    uint32_t shards = 1;
    uint32_t shard = 0;
    auto operator<=>(const CheckpointName&) const = default;
};

std::string text_of(const CheckpointName& name);
std::optional<CheckpointName> parse_checkpoint_name(const std::string& text);

class CheckpointFolder {
  public:
    // Of this user's job, whose name is one that job options allow: jobs of other users may have the same.
    CheckpointFolder(const std::string& folder, uint32_t uid, const std::string& job);

    // Makes the folder, if it is not there. ErrorKind::disk or denied.
    base::Result<> create() const;
    std::string path_of(const CheckpointName& name) const;
    // In order. A folder that is not there has none.
    base::Result<std::vector<CheckpointName>> list() const;
    // Removes what is older than these positions of this generation, finished or not.
    void remove_before(uint64_t generation, uint64_t position) const;

  private:
    std::string path_;
};

}  // namespace pace::server
