// Scope: limits how long callbacks may call an object. The object owns the Scope and binds to it
// every function that is called later. After the Scope has ended, a bound function does nothing.
// The Scope belongs to one thread, in which the functions are called.
//
// Callback: a call that cannot outlive what it touches. Scope::callback() makes one. keep() makes
// one that owns the object which it touches.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace pace::base {

class Callback {
  public:
    Callback() = default;
    void operator()() const {
        if (call_) call_();
    }

  private:
    friend class Scope;
    template <typename Kept, typename Function>
    friend Callback keep(std::shared_ptr<Kept> kept, Function function);
    explicit Callback(std::function<void()> call) : call_(std::move(call)) {}

    std::function<void()> call_;
};

// Makes a Callback that calls `function(*kept)`.
template <typename Kept, typename Function>
Callback keep(std::shared_ptr<Kept> kept, Function function) {
    return Callback([kept = std::move(kept), function = std::move(function)] { function(*kept); });
}

class Scope {
  public:
    Scope() = default;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Returns a function that does nothing once this Scope has ended. Any thread may hold the
    // function and pass it on.
    template <typename Function>
    auto bind(Function function) const {
        return [scope = std::weak_ptr<const bool>(lives_),
                function = std::move(function)](auto&&... arguments) {
            if (!scope.expired()) function(std::forward<decltype(arguments)>(arguments)...);
        };
    }
    template <typename Function>
    Callback callback(Function function) const {
        return Callback(bind(std::move(function)));
    }
    // Functions that were bound before this call do nothing from now on.
    void end() { lives_ = std::make_shared<const bool>(true); }

  private:
    std::shared_ptr<const bool> lives_ = std::make_shared<const bool>(true);
};

}  // namespace pace::base
