#include "tests/world/disks/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace pace::world {

namespace {

namespace fs = std::filesystem;
using Kind = base::FileStep::Kind;

struct Named {
    Kind kind;
    const char* point;
};
// Steps that change something.
constexpr std::array<Named, 7> kPoints = {{{Kind::make_folder, "before a folder is made"},
                                           {Kind::create, "before a file is created"},
                                           {Kind::write, "in a write to a file"},
                                           {Kind::sync, "before a file is synced"},
                                           {Kind::rename, "before a file is renamed"},
                                           {Kind::sync_folder, "before a folder is synced"},
                                           {Kind::remove, "before a file is removed"}}};

const char* point_of(Kind kind) {
    const auto* const found = std::find_if(kPoints.begin(), kPoints.end(),
                                           [kind](const Named& one) { return one.kind == kind; });
    return found == kPoints.end() ? nullptr : found->point;
}

std::vector<std::byte> contents_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const auto view = std::as_bytes(std::span(bytes));
    return {view.begin(), view.end()};
}

void put(const fs::path& path, std::span<const std::byte> bytes,
         std::ios::openmode mode = std::ios::trunc) {
    std::ofstream file(path, std::ios::binary | std::ios::out | mode);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

bool lies_in(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

bool is_file_point(std::string_view point) {
    return std::any_of(kPoints.begin(), kPoints.end(),
                       [point](const Named& one) { return one.point == point; });
}

Files::Files(Clockwork& clockwork, Ledger& ledger, std::string folder, uint32_t machines,
             Point point)
    : clockwork_(clockwork),
      ledger_(ledger),
      folder_(std::move(folder)),
      disks_(machines),
      point_(std::move(point)) {
    for (MachineId machine = 0; machine < machines; ++machine)
        fs::create_directories(disk_of(machine));
}

std::string Files::disk_of(MachineId machine) const {
    return fmt::format("{}/{}", folder_, machine);
}

MachineId Files::machine_of(std::string_view path) const {
    const size_t begin = folder_.size() + 1;
    MachineId machine = 0;
    std::from_chars(path.data() + begin, path.data() + path.size(), machine);
    return machine;
}

int Files::before(const base::FileStep& step) {
    // The folders above the disks are nobody's.
    if (!lies_in(std::string(step.path), folder_)) return kDone;
    const MachineId machine = machine_of(step.path);
    Disk& disk = disks_.at(machine);
    if (!disk.is_used) return EIO;
    if (const int failed = failure(disk, step); failed != 0) return failed;
    if (const char* point = point_of(step.kind); point != nullptr && !point_(point, machine)) {
        if (step.kind == Kind::write) write_part(step);
        disk.is_used = false;
        return EIO;
    }
    note(disk, step);
    const bool is_sync = step.kind == Kind::sync || step.kind == Kind::sync_folder;
    return is_sync ? kDone : 0;
}

int Files::failure(const Disk& disk, const base::FileStep& step) {
    switch (step.kind) {
        case Kind::sync:
        case Kind::sync_folder:
        case Kind::list:
        case Kind::open:
        case Kind::read:
            return disk.broken > 0 ? EIO : 0;
        case Kind::write:
            if (disk.full > 0) write_part(step);
            return disk.full > 0 ? ENOSPC : 0;
        case Kind::make_folder:
        case Kind::create:
            return disk.full > 0 && clockwork_.below(2) == 0 ? ENOSPC : 0;
        case Kind::rename:
        case Kind::remove:
            return 0;
    }
    return 0;
}

void Files::write_part(const base::FileStep& step) {
    put(step.path, step.bytes.first(clockwork_.below(step.bytes.size() + 1)), std::ios::app);
}

// ----------------------------------------------------------------------------- what is not durable

void Files::note(Disk& disk, const base::FileStep& step) {
    const std::string path(step.path);
    switch (step.kind) {
        case Kind::make_folder:
            if (!fs::exists(path)) disk.changes.push_back({Kind::make_folder, path});
            return;
        case Kind::create:
            if (!fs::exists(path)) disk.changes.push_back({Kind::create, path});
            disk.unsynced.insert(path);
            return;
        case Kind::sync:
            disk.unsynced.erase(path);
            return;
        case Kind::rename: {
            const std::string to(step.to);
            if (disk.unsynced.contains(path))
                ledger_.wrong(fmt::format("{} gets its name before it is synced",
                                          to.substr(folder_.size() + 1)));
            disk.changes.push_back({Kind::rename, to, path, fs::exists(to), contents_of(to)});
            return;
        }
        case Kind::sync_folder:
            std::erase_if(disk.changes, [&path](const Change& change) {
                return fs::path(change.path).parent_path() == path;
            });
            return;
        case Kind::remove:
            if (fs::exists(path))
                disk.changes.push_back({Kind::remove, path, {}, false, contents_of(path)});
            return;
        case Kind::list:
        case Kind::write:
        case Kind::open:
        case Kind::read:
            return;
    }
}

bool Files::may_lose(MachineId machine, const server::CheckpointName& name) const {
    const Disk& disk = disks_.at(machine);
    std::error_code ignored;
    const auto is_it = [name](const fs::path& path) {
        auto other = server::parse_checkpoint_name(path.filename().string());
        if (other) other->shards = name.shards;
        return other == name;
    };
    for (fs::recursive_directory_iterator entry(folder_of(machine), ignored);
         entry != fs::recursive_directory_iterator(); ++entry) {
        if (!is_it(entry->path())) continue;
        const std::string path = entry->path().string();
        if (disk.unsynced.contains(path)) return true;
        if (std::any_of(disk.changes.begin(), disk.changes.end(), [&path](const Change& change) {
                return change.path == path || lies_in(path, change.path);
            }))
            return true;
    }
    return false;
}

// ---------------------------------------------------------------------------------- what goes
// wrong

void Files::cut_power(MachineId machine) {
    Disk& disk = disks_.at(machine);
    disk.is_used = false;
    for (const std::string& path : std::exchange(disk.unsynced, {}))
        if (fs::exists(path)) tear(path);
    const size_t kept = clockwork_.below(disk.changes.size() + 1);
    while (disk.changes.size() > kept) {
        undo(disk.changes.back());
        disk.changes.pop_back();
    }
    disk.changes.clear();
}

// A part of it is there, and perhaps its whole length, with zeros for the rest.
void Files::tear(const std::string& path) {
    const uint64_t size = fs::file_size(path);
    const uint64_t there = clockwork_.below(size + 1);
    fs::resize_file(path, there);
    if (clockwork_.below(2) == 0) fs::resize_file(path, there + clockwork_.below(size - there + 1));
}

void Files::undo(const Change& change) {
    std::error_code ignored;
    if (change.kind == Kind::make_folder) fs::remove_all(change.path, ignored);
    if (change.kind == Kind::create) fs::remove(change.path, ignored);
    if (change.kind == Kind::rename) fs::rename(change.path, change.from, ignored);
    if (change.kind == Kind::remove || change.replaces) put(change.path, change.before);
}

void Files::damage(MachineId machine) {
    std::vector<fs::path> all;
    std::error_code ignored;
    for (fs::recursive_directory_iterator entry(folder_of(machine), ignored);
         entry != fs::recursive_directory_iterator(); ++entry)
        if (server::parse_checkpoint_name(entry->path().filename().string()))
            all.push_back(entry->path());
    if (all.empty()) return;
    std::sort(all.begin(), all.end());
    const fs::path& path = all[clockwork_.below(all.size())];
    std::vector<std::byte> bytes = contents_of(path);
    if (bytes.empty()) return;
    const size_t at = clockwork_.below(bytes.size());
    switch (clockwork_.below(3)) {
        case 0:
            bytes.resize(at);
            break;
        case 1:
            std::fill(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), std::byte{0});
            break;
        default:
            bytes[at] ^= std::byte{1} << clockwork_.below(8);
    }
    put(path, bytes);
}

}  // namespace pace::world
