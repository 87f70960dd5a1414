// ShardDisk: the checkpoints of one server job's shards on this daemon's disk.
//
// The services' threads for the disk do it. What a call has to say comes in the loop's thread, unless this is gone by then; and at once
// if there is no folder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/server_mail.h"
#include "daemon/exchange/services.h"
#include "daemon/server/checkpoint.h"
#include "daemon/server/checkpoint_folder.h"

namespace pace::daemon {

class ShardDisk {
  public:
    // Under the folder that the services name, which may be none: then there is nothing, and nothing is kept. Nor is for a name that is none.
    ShardDisk(Services& services, const control::JobOptions& options, uint32_t uid);

    // Whether a job with these options can begin here: if it saves, there is a folder; if it restores, the newest checkpoint in it is of
    // its model. Errors name the file.
    using Checked = std::function<void(const base::Result<>&)>;
    static void check(Services& services, const base::Scope& owner,
                      const control::JobOptions& options, uint32_t uid, const Checked& checked);

    using Saved = std::function<void(base::Result<std::vector<std::byte>> file)>;
    using Kept = std::function<void(base::Result<> kept)>;
    using Loaded = std::function<void(base::Result<server::ReadCheckpoint> read)>;

    // Writes the shard, which is as it is at the ledger's position. `saved` gets the bytes of the file, if it is for a copy.
    void save(const server::Checkpoint& about, std::shared_ptr<const server::Shard> shard,
              bool for_copy, Saved saved);
    // Writes a file that another node has saved.
    void keep(const server::CheckpointName& name, Parcel file, Kept kept);
    // ErrorKind::corrupt, or another's: this file is not listed any more.
    void load(const server::CheckpointName& name, Loaded loaded);
    void remove_before(uint64_t generation, uint64_t position);

    // What is there of this model.
    using Listed = std::function<void(std::vector<control::SavedModel>)>;
    void list(const Listed& listed);

  private:
    class Contents;

    // Does the work in the disk's thread and tells of it in the loop's.
    template <typename Result>
    void run(std::function<Result()> work, std::function<void(Result)> done);

    Services& services_;
    uint64_t elements_;
    bool has_folder_;
    server::CheckpointFolder folder_;
    std::shared_ptr<Contents> contents_;
    std::set<server::CheckpointName> bad_;  // could not be loaded
    base::Scope scope_;
};

}  // namespace pace::daemon
