// Actives: the exchanges under way with other nodes, for the watch over their progress.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/runtime/active.h"

namespace pace::daemon {

class Actives {
  public:
    // `began` is called whenever an exchange begins. Without it, nobody watches.
    void set_watch(std::function<void()> began) { began_ = std::move(began); }

    void add(std::weak_ptr<Active> exchange);
    void remove(const Active* exchange);

    // Whether any still exists. Some end without a word.
    bool any();

    // Calls `work` with each exchange that still exists when its turn comes. The work may begin and
    // end exchanges.
    template <typename Work>
    void each(const Work& work) const {
        for (const std::weak_ptr<Active>& weak : std::vector(list_))
            if (const std::shared_ptr<Active> exchange = weak.lock()) work(exchange);
    }

  private:
    std::vector<std::weak_ptr<Active>> list_;
    std::function<void()> began_;
};

}  // namespace pace::daemon
