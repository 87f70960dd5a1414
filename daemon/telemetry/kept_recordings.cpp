#include "daemon/telemetry/kept_recordings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <vector>

#include "base/log/daemon_events.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "recording-";

// Names sort by time.
std::string file_name(const std::string& reason) {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    tm parts{};
    gmtime_r(&time.tv_sec, &parts);
    return fmt::format("{}{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z-{}.json", kPrefix,
                       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                       parts.tm_min, parts.tm_sec, time.tv_nsec / 1'000'000, reason);
}

base::Result<> write_file(const fs::path& path, std::string_view text) {
    const base::UniqueFd fd(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return base::make_errno_error(errno, "open " + path.string());
    while (!text.empty()) {
        const ssize_t written = write(fd.get(), text.data(), text.size());
        if (written < 0) return base::make_errno_error(errno, "write " + path.string());
        text.remove_prefix(static_cast<size_t>(written));
    }
    return {};
}

// Writes to a temporary file first, so that a half-written file does no harm.
base::Result<> keep_in(const fs::path& folder, const std::string& name, std::string_view text) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return base::make_errno_error(errno, "make " + folder.string());
    const fs::path unfinished = folder / ".unfinished";
    PACE_TRY(write_file(unfinished, text));
    if (rename(unfinished.c_str(), (folder / name).c_str()) != 0)
        return base::make_errno_error(errno, "rename " + unfinished.string());
    return {};
}

void remove_oldest(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
        if (entry.path().filename().string().starts_with(kPrefix)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const size_t over = files.size() - std::min(files.size(), KeptRecordings::kFilesMax);
    for (size_t i = 0; i < over; ++i) fs::remove(files[i], failed);
}

}  // namespace

void KeptRecordings::keep(std::string_view reason) {
    const base::TimePoint now = base::now();
    if (folder_.empty() || now < next_) return;
    next_ = now + kInterval;
    timer_ = loop_.run_after(kAftermath, [this, word = std::string(reason)] { write(word); });
}

void KeptRecordings::write(const std::string& reason) {
    disk_.run([folder = folder_, name = file_name(reason), text = begin_(reason)] {
        const auto kept = keep_in(folder, name, text());
        remove_oldest(folder);
        if (kept)
            base::log_event(base::events::kRecordingKept, {{"path", (folder / name).string()}});
        else
            base::log_event(base::events::kRecordingFailed, {{"reason", kept.error().message}});
    });
}

fs::path recordings_folder() {
    const char* state = std::getenv("STATE_DIRECTORY");
    if (state == nullptr || *state != '/') return {};
    const std::string_view folders(state);
    return fs::path(folders.substr(0, folders.find(':'))) / "recordings";
}

}  // namespace pace::daemon
