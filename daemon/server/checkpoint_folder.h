// CheckpointFolder: the checkpoints of one job's shards on this daemon's disk, by generation,
// position and shard.
//
//     FOLDER/USER/JOB.model/GENERATION.POSITION.SHARD-of-SHARDS
//
// All four numbers of a file's name are decimal; generation and position have twenty digits. Other
// files in the folder are left alone. Blocks for the disk; one thread at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
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
    // The folder of this user's job. Jobs of other users may have the same name. `job` must be a
    // name that job options allow.
    CheckpointFolder(const std::string& folder, uint32_t uid, const std::string& job);

    // Creates the folder if it does not exist. A power cut does not take it any more. Errors: disk,
    // denied.
    base::Result<> create() const;
    std::string path_of(const CheckpointName& name) const;
    // Returns the checkpoints in order. Returns none if the folder does not exist.
    base::Result<std::vector<CheckpointName>> list() const;
    // Removes checkpoints of this generation before `position`, and all checkpoints of older
    // generations. It removes finished and unfinished ones.
    void remove_before(uint64_t generation, uint64_t position) const;

  private:
    std::string path_;
    // Whether this process has seen to that. Copies share it.
    std::shared_ptr<bool> names_are_durable_ = std::make_shared<bool>(false);
};

}  // namespace pace::server
