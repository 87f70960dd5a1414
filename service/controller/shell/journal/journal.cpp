#include "service/controller/shell/journal/journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "service/controller/shell/journal/journal_format.h"

namespace pace::controller {

namespace {

base::Error disk_error(int error_number, const std::string& path, std::string_view doing) {
    return base::make_error(base::ErrorKind::disk,
                            "journal {}: {}: {}; free space or repair the "
                            "disk, the controller tries again by itself",
                            path, doing, std::strerror(error_number));
}

base::Result<base::UniqueFd> open_locked(const std::string& path) {
    for (;;) {
        base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        struct stat status {};
        if (!fd.valid() || fstat(fd.get(), &status) != 0)
            return base::make_errno_error(errno, fmt::format("open journal {}", path));
        if (!S_ISREG(status.st_mode))
            return base::make_error(base::ErrorKind::invalid, "journal {} is not a regular file",
                                    path);
        if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK)
                return base::make_error(base::ErrorKind::taken,
                                        "journal {} is held by another controller; stop that one, "
                                        "or name another file",
                                        path);
            return base::make_errno_error(errno, fmt::format("lock journal {}", path));
        }
        // The holder of the lock may have replaced the file between our open and our lock
        // (compact).
        struct stat named {};
        if (stat(path.c_str(), &named) == 0 && named.st_ino == status.st_ino &&
            named.st_dev == status.st_dev)
            return fd;
    }
}

base::Result<std::vector<std::byte>> read_all(int fd, const std::string& path) {
    struct stat status {};
    if (fstat(fd, &status) != 0)
        return base::make_errno_error(errno, fmt::format("read journal {}", path));
    std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
    size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got =
            pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::make_errno_error(errno, fmt::format("read journal {}", path));
        if (got == 0) break;
        have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

// On success the bytes are durable. After an error nothing is known about the bytes at `offset`.
base::Result<> write_all(int fd, uint64_t offset, std::span<const std::byte> bytes,
                         const std::string& path) {
    if (bytes.empty()) return {};
    while (!bytes.empty()) {
        const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return disk_error(errno, path, "write");
        bytes = bytes.subspan(static_cast<size_t>(written));
        offset += static_cast<uint64_t>(written);
    }
    if (fdatasync(fd) != 0) return disk_error(errno, path, "fdatasync");
    return {};
}

// A new file's name is durable only once its folder is.
void sync_folder(const std::string& path) {
    const auto folder = std::filesystem::absolute(path).parent_path();
    const base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.valid()) fsync(fd.get());
}

// A cut would lose whole records behind the damage, so a person must decide.
base::Result<> cut_or_refuse(const std::string& path, const RecoveredJournal& recovered,
                             const Journal::Options& options) {
    const std::string copy = path + ".damaged";
    if (!options.cut_damaged)
        return base::make_error(
            base::ErrorKind::corrupt,
            "journal {} is damaged at byte {} ({}), and whole records lie behind that, from byte "
            "{} on, which would be forgotten. Put a good copy in its place; or start "
            "pace-controller once with --cut-damaged-journal, which keeps what lies before the "
            "damage, and all of the file as {}; or move it away, and let the daemons announce "
            "themselves",
            path, recovered.good_bytes, recovered.cut_because, recovered.whole_behind, copy);
    std::error_code error;
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error)
        return base::make_error(base::ErrorKind::disk, "journal {}: copy it to {}: {}", path, copy,
                                error.message());
    return {};
}

// All records as one durable file: the file is synced before it gets its name.
std::vector<std::byte> file_of(std::span<const std::vector<std::byte>> records) {
    std::vector<std::byte> bytes = journal_header();
    for (const auto& record : records) append_record(bytes, bytes.size(), record, bytes.size());
    return bytes;
}

}  // namespace

base::Result<Journal::Opened> Journal::open(const std::string& path, Options options) {
    PACE_TRY_ASSIGN(fd, open_locked(path));
    PACE_TRY_ASSIGN(bytes, read_all(fd.get(), path));
    auto recovered = recover_journal(bytes);
    if (!recovered) {
        recovered.error().message = fmt::format("{}: {}", path, recovered.error().message);
        return std::move(recovered).error();
    }
    if (recovered->whole_behind != 0) PACE_TRY(cut_or_refuse(path, *recovered, options));
    Opened opened;
    for (const auto& record : recovered->records)
        opened.records.emplace_back(record.begin(), record.end());
    if (!recovered->cut_because.empty()) {
        opened.cut_at = recovered->good_bytes;
        opened.cut_bytes = bytes.size() - recovered->good_bytes;
        opened.cut_because = recovered->cut_because;
        if (ftruncate(fd.get(), static_cast<off_t>(recovered->good_bytes)) != 0)
            return base::make_errno_error(errno, fmt::format("cut journal {}", path));
    }
    if (recovered->good_bytes == 0) sync_folder(path);
    opened.journal.reset(new Journal(path, std::move(fd), recovered->good_bytes,
                                     recovered->records.size(), options));
    return opened;
}

Journal::Journal(std::string path, base::UniqueFd fd, uint64_t end, uint64_t records,
                 Options options)
    : path_(std::move(path)),
      options_(options),
      fd_(std::move(fd)),
      compacted_bytes_(end),
      end_(end),
      records_(records) {
    // Room must be known before the first record is requested. So this first reserve (and the
    // header of a new file) is written here and not by the writer.
    std::unique_lock lock(mutex_);
    write_waiting(lock);
}

void Journal::start() {
    writer_ = std::thread([this] { run(); });
    pthread_setname_np(writer_.native_handle(), "pace-journal");
}

// Writes a new file, locked and durable before it takes the name. So the name always refers to a
// complete journal that no other process can open.
base::Result<base::UniqueFd> Journal::write_anew(std::span<const std::byte> bytes) const {
    const std::string beside = path_ + ".new";
    base::UniqueFd fd(
        ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
        return base::make_errno_error(errno, fmt::format("compact journal {}", path_));
    auto written = write_all(fd.get(), 0, bytes, path_);
    if (written && rename(beside.c_str(), path_.c_str()) != 0)
        written = disk_error(errno, path_, "rename");
    if (!written) {
        unlink(beside.c_str());
        return std::move(written).error();
    }
    sync_folder(path_);
    return fd;
}

base::Result<bool> Journal::compact(std::span<const std::vector<std::byte>> records) {
    const std::vector<std::byte> bytes = file_of(records);
    if (end_ < options_.compact_bytes || bytes.size() >= end_ / 2) return false;
    PACE_TRY_ASSIGN(fd, write_anew(bytes));
    fd_ = std::move(fd);
    end_ = compacted_bytes_ = bytes.size();
    records_ = records.size();
    reserved_to_ = 0;
    return true;
}

bool Journal::is_long() const {
    const std::lock_guard lock(mutex_);
    return !replacement_ && end_ >= options_.compact_bytes && end_ / 4 > compacted_bytes_;
}

void Journal::replace(std::vector<std::vector<std::byte>> records) {
    {
        const std::lock_guard lock(mutex_);
        replacement_ = std::move(records);
        replaced_ = waiting_.size();
    }
    work_.notify_one();
}

void Journal::write_replacement(std::unique_lock<std::mutex>& lock) {
    const auto records = std::move(*replacement_);
    lock.unlock();
    const std::vector<std::byte> bytes = file_of(records);
    auto fd = write_anew(bytes);
    lock.lock();
    replacement_.reset();
    // The next compaction comes at four times this size, whether this one worked or not.
    compacted_bytes_ = fd ? bytes.size() : end_;
    if (!fd) return;
    fd_ = std::move(*fd);
    end_ = bytes.size();
    records_ = records.size();
    reserved_to_ = 0;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(replaced_));
    if (waiting_.empty()) durable_.notify_all();
}

Journal::~Journal() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    if (writer_.joinable()) writer_.join();
}

void Journal::append(std::vector<std::byte> record) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(record));
    }
    work_.notify_one();
}

std::optional<base::Error> Journal::failure() const {
    if (!failed_.load(std::memory_order_relaxed)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return error_;
}

bool Journal::flush(base::TimePoint deadline) {
    std::unique_lock lock(mutex_);
    return durable_.wait_until(lock, deadline, [this] { return waiting_.empty(); });
}

Journal::Status Journal::status() const {
    const std::lock_guard lock(mutex_);
    return {end_, records_, waiting_.size(), error_};
}

void Journal::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const auto has_work = [this] {
            return stopping_ || replacement_ || (!waiting_.empty() && !stuck_);
        };
        if (error_)
            work_.wait_for(lock, options_.retry, has_work);
        else
            work_.wait(lock, has_work);
        if (!stopping_ && replacement_) write_replacement(lock);
        if (!stopping_) write_waiting(lock);
    }
    if (!waiting_.empty()) write_waiting(lock);
}

// Writes the gathered records, without the lock. Records of a failed write stay in waiting_, to be
// written again at the same offset: after a failed fdatasync the kernel forgets which pages it
// could not write.
void Journal::write_waiting(std::unique_lock<std::mutex>& lock) {
    std::vector<std::byte> bytes;
    if (end_ == 0) bytes = journal_header();
    const size_t count = waiting_.size();
    for (const auto& record : waiting_) append_record(bytes, end_ + bytes.size(), record, end_);
    const uint64_t begin = end_;
    const uint64_t end = end_ + bytes.size();

    lock.unlock();
    base::Result<> outcome = write_all(fd_.get(), begin, bytes, path_);
    const bool written = outcome.ok();
    // The reserve comes after the batch: a lack of reserve must not keep this batch from the disk.
    if (written) outcome = reserve_after(end);
    lock.lock();

    if (written) {
        end_ = end;
        records_ += count;
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
        replaced_ -= std::min(replaced_, count);
        if (waiting_.empty()) durable_.notify_all();
    }
    stuck_ = !written;
    error_ = outcome.ok() ? std::nullopt : std::optional(std::move(outcome).error());
    failed_.store(error_.has_value(), std::memory_order_relaxed);
}

// Keeps at least half of the reserve allocated behind `end`.
base::Result<> Journal::reserve_after(uint64_t end) {
    if (options_.reserve_bytes == 0 || reserved_to_ >= end + options_.reserve_bytes / 2) return {};
    while (fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end),
                     static_cast<off_t>(options_.reserve_bytes)) != 0) {
        if (errno == EINTR) continue;
        // A filesystem that cannot allocate ahead reports a full disk only when it is full.
        if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
        return disk_error(errno, path_, "reserve space");
    }
    reserved_to_ = end + options_.reserve_bytes;
    return {};
}

}  // namespace pace::controller
