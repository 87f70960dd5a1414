#include "service/controller/keys/key_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/attempt.h"

namespace pace::controller {

namespace {

namespace fs = std::filesystem;

// What identifies the folder's files as they are now. Blocks.
std::string signature_of(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end;
         !error && at != end && files.size() < AllowedKeys::kFilesMax; at.increment(error)) {
        struct stat file {};
        if (stat(at->path().c_str(), &file) != 0) continue;
        files.push_back(fmt::format(
            "{}:{}:{}:{}.{}:{}.{}", at->path().filename().string(), file.st_ino, file.st_size,
            file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_ctim.tv_sec, file.st_ctim.tv_nsec));
    }
    if (error) return error.message();
    std::sort(files.begin(), files.end());
    return fmt::format("{}", fmt::join(files, "\n"));
}

}  // namespace

// One look at the folder: made in the loop, filled in by the thread, and used in the loop again.
struct KeyWatch::Look {
    std::string folder;
    std::string seen;  // the files before; afterwards the files as they are
    Keys earlier;
    std::optional<base::Result<Keys>> read;  // only if the files have changed

    void run() {
        // The files may change while they are read: then the next look finds them changed.
        const std::string now = signature_of(folder);
        if (now == seen) return;
        seen = now;
        auto keys = AllowedKeys::read(folder, *earlier);
        read = keys ? base::Result<Keys>(std::make_shared<AllowedKeys>(std::move(*keys)))
                    : base::Result<Keys>(std::move(keys).error());
    }
};

KeyWatch::KeyWatch(base::EventLoop& loop, std::string folder, Keys first,
                   std::function<void(const base::Result<Keys>&)> changed)
    : loop_(loop),
      folder_(std::move(folder)),
      changed_(std::move(changed)),
      keys_(std::move(first)) {
    look_later();
}

KeyWatch::~KeyWatch() = default;

void KeyWatch::look_later() {
    timer_ = loop_.run_after(kInterval, [this] {
        auto look = std::make_shared<Look>(
            Look{.folder = folder_, .seen = seen_, .earlier = keys_, .read = {}});
        thread_.run(
            [look, post = loop_.poster(), done = scope_.bind([this, look] { looked(*look); })] {
                (void)base::attempt([&] { look->run(); });
                post(done);
            });
    });
}

void KeyWatch::looked(Look& look) {
    look_later();
    seen_ = std::move(look.seen);
    if (!look.read) return;
    const bool was_unreadable = std::exchange(is_unreadable_, !*look.read);
    if (*look.read) {
        if (!was_unreadable && ***look.read == *keys_) return;
        keys_ = **look.read;
    }
    changed_(*look.read);
}

}  // namespace pace::controller
