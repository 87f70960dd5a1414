#include "daemon/families/serving/shards/shard_disk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/log/training_events.h"
#include "daemon/server/letter.h"
#include "daemon/server/packed_file.h"
#include "protocol/options/names.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::CheckpointFolder;
using server::CheckpointName;

namespace {

CheckpointName name_of(const server::Checkpoint& about) {
    return {about.generation, about.ledger.position, about.shards, about.shard};
}

Result<server::Checkpoint> read_about_of(const std::string& path) {
    PACE_TRY_ASSIGN(file, server::PackedReader::open(path));
    return server::read_about(*file);
}

base::Error no_folder() {
    return base::make_error(ErrorKind::disk,
                            "this daemon keeps no checkpoints; set `checkpoints` in its "
                            "configuration to a folder");
}

// Checks the head of the newest checkpoint.
Result<> check_newest(const CheckpointFolder& folder, uint64_t elements) {
    PACE_TRY_ASSIGN(names, folder.list());
    if (names.empty()) return {};
    const std::string path = folder.path_of(names.back());
    const auto about = read_about_of(path);
    if (!about) {
        const ErrorKind kind = about.error().kind;
        return base::make_error(kind == ErrorKind::corrupt ? ErrorKind::disk : kind, "{}",
                                about.error().message);
    }
    if (about->elements == elements) return {};
    return base::make_error(ErrorKind::mismatch,
                            "elements is {}, but the checkpoint {} is of a model of {}; open the "
                            "job with that many, or without restore, or under another name",
                            elements, path, about->elements);
}

// Runs `work` in the thread and calls `done` in the loop's.
template <typename Result>
void run_in(base::BackgroundThread& thread, base::EventLoop& loop, const base::Scope& owner,
            std::function<Result()> work, std::function<void(Result)> done, Result otherwise) {
    thread.run([post = loop.poster(), work = std::move(work), told = owner.bind(std::move(done)),
                result = std::make_shared<Result>(std::move(otherwise))] {
        (void)base::attempt([&] { *result = work(); });  // else the result stays `otherwise`
        post([result, told] { told(std::move(*result)); });
    });
}

}  // namespace

// The checkpoints of this job's model that are in the folder. Only for the thread that lists.
class ShardDisk::Contents {
  public:
    Contents(CheckpointFolder folder, std::string job, uint64_t elements)
        : folder_(std::move(folder)), job_(std::move(job)), elements_(elements) {}

    std::vector<control::SavedModel> list(const std::set<CheckpointName>& bad);

  private:
    const std::optional<server::Checkpoint>& about(const CheckpointName& name);
    bool fits(const CheckpointName& name, const server::Checkpoint& about) const;

    CheckpointFolder folder_;
    std::string job_;
    uint64_t elements_;
    std::map<CheckpointName, std::optional<server::Checkpoint>> abouts_;  // none: of no use
};

ShardDisk::ShardDisk(Services& services, const control::JobOptions& options, uint32_t uid)
    : services_(services),
      elements_(options.elements),
      has_folder_(!services.options.checkpoints.empty() && protocol::check_job_name(options.name)),
      folder_(services.options.checkpoints, uid, options.name),
      contents_(std::make_shared<Contents>(folder_, options.name, options.elements)) {}

void ShardDisk::check(Services& services, const base::Scope& owner,
                      const control::JobOptions& options, uint32_t uid, const Checked& checked) {
    // The name becomes part of a path.
    if (const auto named = protocol::check_job_name(options.name); !named) return checked(named);
    const bool needs_folder = options.checkpoint_every_ms != 0 || options.restore;
    if (services.options.checkpoints.empty())
        return checked(needs_folder ? Result<>(no_folder()) : Result<>());
    if (!options.restore) return checked({});
    const CheckpointFolder folder(services.options.checkpoints, uid, options.name);
    run_in<Result<>>(
        *services.lists, services.loop, owner,
        [folder, elements = options.elements] { return check_newest(folder, elements); }, checked,
        base::out_of_memory());
}

template <typename Result>
void ShardDisk::run(std::function<Result()> work, std::function<void(Result)> done) {
    run_in<Result>(services_.disk, services_.loop, scope_, std::move(work), std::move(done),
                   base::out_of_memory());
}

void ShardDisk::save(const server::Checkpoint& about, std::shared_ptr<const server::Shard> shard,
                     bool for_copy, Saved saved) {
    using File = Result<std::vector<std::byte>>;
    if (!has_folder_) return saved(no_folder());
    run<File>(
        [folder = folder_, about, shard = std::move(shard), for_copy]() -> File {
            PACE_TRY(folder.create());
            const std::string path = folder.path_of(name_of(about));
            PACE_TRY_ASSIGN(file, server::PackedWriter::create(path));
            PACE_TRY(server::write_checkpoint(*file, about, *shard));
            if (!for_copy) return std::vector<std::byte>();
            return server::read_whole(path, server::checkpoint_bytes_max(about.elements));
        },
        std::move(saved));
}

void ShardDisk::keep(const CheckpointName& name, Parcel file, Kept kept) {
    if (!has_folder_) return kept(no_folder());
    auto parcel = std::make_shared<const Parcel>(std::move(file));
    run<Result<>>(
        [folder = folder_, name, parcel]() -> Result<> {
            PACE_TRY(folder.create());
            return server::write_whole(folder.path_of(name), parcel->bytes);
        },
        std::move(kept));
}

void ShardDisk::load(const CheckpointName& name, Loaded loaded) {
    using Read = Result<server::ReadCheckpoint>;
    run<Read>(
        [folder = folder_, name, elements = elements_]() -> Read {
            PACE_TRY_ASSIGN(file, server::PackedReader::open(folder.path_of(name)));
            PACE_TRY_ASSIGN(read, server::read_checkpoint(*file, elements));
            if (name_of(read.about) == name && read.about.elements == elements) return read;
            return base::make_error(ErrorKind::corrupt,
                                    "{} is another checkpoint than its name says",
                                    folder.path_of(name));
        },
        [this, name, loaded = std::move(loaded)](Read read) {
            if (!read) bad_.insert(name);
            loaded(std::move(read));
        });
}

void ShardDisk::remove_before(uint64_t generation, uint64_t position) {
    if (!has_folder_) return;
    services_.disk.run(
        [folder = folder_, generation, position] { folder.remove_before(generation, position); });
}

void ShardDisk::list(const Listed& listed) {
    using Models = std::vector<control::SavedModel>;
    if (!has_folder_) return listed({});
    run_in<Models>(*services_.lists, services_.loop, scope_,
                   [contents = contents_, bad = bad_] { return contents->list(bad); }, listed, {});
}

// Reads each file only once.
const std::optional<server::Checkpoint>& ShardDisk::Contents::about(const CheckpointName& name) {
    const auto [entry, is_new] = abouts_.try_emplace(name);
    if (!is_new) return entry->second;
    auto read = read_about_of(folder_.path_of(name));
    if (read && fits(name, *read)) {
        entry->second = std::move(*read);
    } else {
        base::log_event(base::events::kCheckpointBad,
                        {{"job", job_},
                         {"path", folder_.path_of(name)},
                         {"reason", read ? "it is of another model" : read.error().message}});
    }
    return entry->second;
}

bool ShardDisk::Contents::fits(const CheckpointName& name, const server::Checkpoint& about) const {
    return name_of(about) == name && about.job == job_ && about.elements == elements_ &&
           about.shards <= protocol::kShardsMax;
}

std::vector<control::SavedModel> ShardDisk::Contents::list(const std::set<CheckpointName>& bad) {
    std::vector<control::SavedModel> models;
    const auto names = folder_.list();
    if (!names) {
        base::log_event(base::events::kCheckpointsUnlisted,
                        {{"job", job_}, {"reason", names.error().message}});
        return models;
    }
    std::erase_if(abouts_, [&names](const auto& entry) {
        return !std::binary_search(names->begin(), names->end(), entry.first);
    });
    for (const CheckpointName& name : *names) {
        if (bad.contains(name)) continue;
        const auto& known = about(name);
        if (!known) continue;
        const bool same = !models.empty() && models.back().generation == name.generation &&
                          models.back().ledger.position == name.position &&
                          models.back().shards == name.shards &&
                          models.back().token == known->token;
        if (!same)
            models.push_back({known->token,
                              name.generation,
                              name.shards,
                              {},
                              server::tell<control::ServerLedger>(known->ledger)});
        models.back().there.push_back(name.shard);
    }
    return models;
}

}  // namespace pace::daemon
