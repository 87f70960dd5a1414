// KeptRecordings: recordings in files of the state folder, of moments at which something went wrong. The newest few are kept.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/background_thread.h"
#include "base/event_loop.h"

namespace pace::daemon {

class KeptRecordings {
  public:
    static constexpr size_t kFilesMax = 8;
    // What happens right after belongs to it, too.
    static constexpr base::Duration kAftermath = std::chrono::seconds(1);
    // One file for all that goes wrong at once.
    static constexpr base::Duration kInterval = std::chrono::seconds(30);

    // `begin` is called in the loop, with the reason, and returns what makes the document in another thread. An empty folder: nothing is
    // kept. Nobody waits for the disk.
    using Begin = std::function<std::function<std::string()>(const std::string& reason)>;
    KeptRecordings(base::EventLoop& loop, std::filesystem::path folder, Begin begin)
        : loop_(loop), folder_(std::move(folder)), begin_(std::move(begin)) {}

    // The reason is one word.
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

// Where a service's state is, as systemd says it ($STATE_DIRECTORY), and the recordings in it. Empty: there is none.
std::filesystem::path recordings_folder();

}  // namespace pace::daemon
