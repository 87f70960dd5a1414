// Strand: runs work on much memory outside the event loop, one step after the other, in the order
// of the calls. The `done` callbacks come in the same order. The caller can decide on further steps
// at once, because their effects on memory come in the order of the decisions.
//
// Work must own the memory that it touches, because the caller may be gone when the work ends.
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
    // Error: memory, if the work ran out of memory. Its output is then undefined.
    using Done = std::function<void(const base::Result<>&)>;

    // Runs everything at once.
    Strand() : Strand(std::nullopt) {}
    explicit Strand(Aside aside) : Strand(std::optional(std::move(aside))) {}
    // Drops steps that have not begun. No callback comes for a running step.
    ~Strand();
    Strand(const Strand&) = delete;
    Strand& operator=(const Strand&) = delete;

    // Runs `work` over [0, size) in pieces of `grain`, in several threads at once. All of the work
    // together touches `bytes` bytes. Then calls `done` in the loop's thread. If the work is little
    // and no earlier step is left, both happen before this function returns. `done` may add steps,
    // or destroy the strand.
    void run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work, Done done = {});
    // Does the same for work that cannot be cut.
    void run(size_t bytes, std::function<void()> work, Done done = {});
    // Calls `done` when all steps added so far are done. If they are done already, the call comes
    // before this function returns.
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
