// ShardDisk: the checkpoints of one server job's shards on this daemon's disk.
//
// The services' disk threads do the work. Results come in the loop's thread, unless this object is
// gone by then; they come at once if there is no folder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/control/messages.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/runtime/services.h"
#include "daemon/server/checkpoint.h"
#include "daemon/server/checkpoint_folder.h"

namespace pace::daemon {

class ShardDisk {
  public:
    // Uses a folder under the one that the services name. If they name none, or if the job's name
    // is no valid one, there are no checkpoints and none are kept.
    ShardDisk(Services& services, const control::JobOptions& options, uint32_t uid);

    // Whether a job with these options can begin here. If the job saves, there must be a folder; if
    // it restores, the newest checkpoint in the folder must be of its model. Errors name the file.
    using Checked = std::function<void(const base::Result<>&)>;
    static void check(Services& services, const base::Scope& owner,
                      const control::JobOptions& options, uint32_t uid, const Checked& checked);

    using Saved = std::function<void(base::Result<std::vector<std::byte>> file)>;
    using Kept = std::function<void(base::Result<> kept)>;
    using Loaded = std::function<void(base::Result<server::ReadCheckpoint> read)>;

    // Writes the shard, which is as it is at the ledger's position. `saved` gets the file's bytes
    // if they are for a copy.
    void save(const server::Checkpoint& about, std::shared_ptr<const server::Shard> shard,
              bool for_copy, Saved saved);
    // Writes a file that another node has saved.
    void keep(const server::CheckpointName& name, Parcel file, Kept kept);
    // After an error, ErrorKind::corrupt or another, this file is not listed any more.
    void load(const server::CheckpointName& name, Loaded loaded);
    void remove_before(uint64_t generation, uint64_t position);

    // Lists the checkpoints of this model that are there.
    using Listed = std::function<void(std::vector<control::SavedModel>)>;
    void list(const Listed& listed);

  private:
    class Contents;

    // Does `work` in the disk's thread and calls `done` in the loop's.
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
