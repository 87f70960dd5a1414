// Strand: work on much memory that leaves the event loop, one piece of work after the other, in the order in which it was asked for, and
// so do the calls that tell of it. Whoever decides goes on at once: what its decisions do to memory comes in the same order.
//
// Work owns what it touches: whoever asked may be gone when it ends.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "daemon/kernels/aside.h"

namespace pace::kernels {

class Strand {
  public:
    // ErrorKind::memory: the work found none, and what it has written is undefined.
    using Done = std::function<void(const base::Result<>&)>;

    // Everything is done at once.
    Strand() : Strand(std::nullopt) {}
    explicit Strand(Aside aside) : Strand(std::optional(std::move(aside))) {}
    // What has not begun is dropped, and nobody is told of what has.
    ~Strand();
    Strand(const Strand&) = delete;
    Strand& operator=(const Strand&) = delete;

    // Does `work` over [0, size) in pieces of `grain`, in several threads at once; all of it touches `bytes` bytes. Then calls `done`, in
    // the loop's thread. Both come before this returns if that is little and nothing is before it. `done` may ask for more, or end this.
    void run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work, Done done = {});
    // The same of work that cannot be cut.
    void run(size_t bytes, std::function<void()> work, Done done = {});
    // Calls `done` when all is done that was asked for so far; before this returns if it is.
    void then(std::function<void()> done);

    bool is_idle() const;

  private:
    struct Step {
        size_t bytes = 0;
        size_t size = 0;
        size_t grain = 1;
        WorkerPool::Work work;
        Done done;
    };
    struct State : std::enable_shared_from_this<State> {
        struct UnderWay;

        void go_on();
        void begin(Step step);
        void run(Step& step, const std::shared_ptr<UnderWay>& under_way);

        std::optional<Aside> aside;
        std::deque<Step> waiting;
        bool working = false;
        bool ended = false;
    };

    explicit Strand(std::optional<Aside> aside);

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace pace::kernels
