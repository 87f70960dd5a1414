// KeptRecordings: recordings of failures, in files of the state folder. Only the newest few are
// kept.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop/event_loop.h"
#include "base/threads/background_thread.h"

namespace pace::daemon {

class KeptRecordings {
  public:
    static constexpr size_t kFilesMax = 8;
    // Time after a failure that its recording includes.
    static constexpr base::Duration kAftermath = std::chrono::seconds(1);
    // Failures within this interval share one file.
    static constexpr base::Duration kInterval = std::chrono::seconds(30);

    // `begin` is called in the loop with the reason; it returns a function that makes the document
    // in another thread. With an empty folder nothing is kept. Nothing waits for the disk.
    using Begin = std::function<std::function<std::string()>(const std::string& reason)>;
    KeptRecordings(base::EventLoop& loop, std::filesystem::path folder, Begin begin)
        : loop_(loop), folder_(std::move(folder)), begin_(std::move(begin)) {}

    // Keeps a recording. `reason` is one word.
    void keep(std::string_view reason);

  private:
    void write(const std::string& reason);

    base::EventLoop& loop_;
    const std::filesystem::path folder_;
    const Begin begin_;
    base::TimePoint next_{};
    base::Timer timer_;
    base::BackgroundThread disk_;
};

// The folder for recordings in the service's state folder, which systemd names in $STATE_DIRECTORY.
// Empty: there is none.
std::filesystem::path recordings_folder();

}  // namespace pace::daemon
