#include "daemon/server/checkpoint_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/simulation/simulated_files.h"
#include "daemon/server/whole_file.h"

namespace pace::server {

using base::ErrorKind;
using base::Result;
using Kind = base::FileStep::Kind;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".part";

base::Error folder_error(const std::string& path, const std::error_code& code) {
    const ErrorKind kind =
        code == std::errc::permission_denied ? ErrorKind::denied : ErrorKind::disk;
    return base::make_error(kind, "checkpoint folder {}: {}", path, code.message());
}

// Parses digits up to `end`. `end` must follow the digits. Removes both from `rest`.
template <typename Number>
bool take_number(std::string_view& rest, std::string_view end, Number& ret_number) {
    const size_t at = end.empty() ? rest.size() : rest.find(end);
    if (at == std::string_view::npos || at == 0) return false;
    const auto [last, error] = std::from_chars(rest.data(), rest.data() + at, ret_number);
    if (error != std::errc() || last != rest.data() + at) return false;
    rest.remove_prefix(at + end.size());
    return true;
}

// Syncs the names in a folder, unless the daemon may not open it or its filesystem has no sync. 0,
// or why that failed.
int sync_if_possible(const fs::path& folder) {
    const int error = sync_names(folder);
    const bool is_impossible =
        error == EACCES || error == EPERM || error == EINVAL || error == ENOSYS || error == EROFS;
    return is_impossible ? 0 : error;
}

// Makes a folder, and those above it that are not there. 0, or why that failed.
int make_folders(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return 0;
    if (const int error = make_folders(path.parent_path()); error != 0) return error;
    const int made = base::file_step({Kind::make_folder, path.native()},
                                     [&path] { return ::mkdir(path.c_str(), 0777); });
    return made != 0 && errno != EEXIST ? errno : 0;
}

}  // namespace

std::string text_of(const CheckpointName& name) {
    return fmt::format("{:020}.{:020}.{}-of-{}", name.generation, name.position, name.shard,
                       name.shards);
}

std::optional<CheckpointName> parse_checkpoint_name(const std::string& text) {
    CheckpointName name;
    std::string_view rest = text;
    if (!take_number(rest, ".", name.generation) || !take_number(rest, ".", name.position) ||
        !take_number(rest, "-of-", name.shard) || !take_number(rest, "", name.shards) ||
        name.shard >= name.shards || text_of(name) != text)
        return std::nullopt;
    return name;
}

// A job may be called "..". With the suffix, the job's folder has an ordinary name.
CheckpointFolder::CheckpointFolder(const std::string& folder, uint32_t uid, const std::string& job)
    : path_(fmt::format("{}/{}/{}.model", folder, uid, job)) {}

// The name of a folder is durable once the folder above it is synced. Folders that are there may be
// those of a daemon that died before that.
Result<> CheckpointFolder::create() const {
    const fs::path job = fs::absolute(path_);
    const auto error_of = [this](int error) {
        return folder_error(path_, {error, std::generic_category()});
    };
    std::error_code ignored;
    if (!fs::is_directory(job, ignored)) *names_are_durable_ = false;
    if (const int error = make_folders(job); error != 0) return error_of(error);
    if (*names_are_durable_) return {};
    for (fs::path path = job; path.has_relative_path(); path = path.parent_path())
        if (const int error = sync_if_possible(path.parent_path()); error != 0)
            return error_of(error);
    *names_are_durable_ = true;
    return {};
}

std::string CheckpointFolder::path_of(const CheckpointName& name) const {
    return path_ + "/" + text_of(name);
}

Result<std::vector<CheckpointName>> CheckpointFolder::list() const {
    std::vector<CheckpointName> names;
    if (base::file_step({Kind::list, path_}, [] { return 0; }) != 0)
        return folder_error(path_, {errno, std::generic_category()});
    std::error_code error;
    fs::directory_iterator entry(path_, error);
    if (error == std::errc::no_such_file_or_directory) return names;
    for (; !error && entry != fs::directory_iterator(); entry.increment(error))
        if (const auto name = parse_checkpoint_name(entry->path().filename().string()))
            names.push_back(*name);
    if (error) return folder_error(path_, error);
    std::sort(names.begin(), names.end());
    return names;
}

void CheckpointFolder::remove_before(uint64_t generation, uint64_t position) const {
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        std::string text = entry->path().filename().string();
        if (text.ends_with(kUnfinished)) text.resize(text.size() - kUnfinished.size());
        const auto name = parse_checkpoint_name(text);
        if (name && std::pair(name->generation, name->position) < std::pair(generation, position))
            old.push_back(entry->path());
    }
    for (const auto& path : old) remove_file(path);
}

}  // namespace pace::server
