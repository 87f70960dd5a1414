// KeyWatch: reads the folder of allowed keys again whenever its files change.
//
// A thread looks at the folder about once a second, so that a slow disk does not hold up the loop.
// It compares names, sizes and times of the files, which needs no support by the filesystem.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop/event_loop.h"
#include "base/loop/scope.h"
#include "base/threads/background_thread.h"
#include "service/controller/keys/allowed_keys.h"

namespace pace::controller {

class KeyWatch {
  public:
    static constexpr base::Duration kInterval = std::chrono::seconds(1);

    // `first` is what was read when the controller started. When the folder has other keys, users
    // or problems, `changed` is called in the loop's thread with what it has now, or with the error
    // if the folder cannot be read.
    using Keys = std::shared_ptr<const AllowedKeys>;
    KeyWatch(base::EventLoop& loop, std::string folder, Keys first,
             std::function<void(const base::Result<Keys>&)> changed);
    ~KeyWatch();
    KeyWatch(const KeyWatch&) = delete;
    KeyWatch& operator=(const KeyWatch&) = delete;

  private:
    struct Look;
    void look_later();
    void looked(Look& look);

    base::EventLoop& loop_;
    const std::string folder_;
    std::function<void(const base::Result<Keys>&)> changed_;
    Keys keys_;         // as read last
    std::string seen_;  // what identified the files then; empty: not looked yet
    bool is_unreadable_ = false;
    base::Timer timer_;
    base::Scope scope_;
    base::BackgroundThread thread_;  // last: its work refers to the others
};

}  // namespace pace::controller
