// Scope: how long what an object has begun may call it back. The object owns the Scope, and binds to it whatever is called later: after the
// Scope's end such a call does nothing. One thread: that in which the calls come.
//
// Callback: a call that cannot outlive what it touches. It is made by Scope::callback(), or by keep(), with what it touches inside.
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

// Calls `function(*kept)`.
template <typename Kept, typename Function>
Callback keep(std::shared_ptr<Kept> kept, Function function) {
    return Callback([kept = std::move(kept), function = std::move(function)] { function(*kept); });
}

class Scope {
  public:
    Scope() = default;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // The function, which does nothing once this has ended. Any thread may hold it, and hand it on.
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
    // What was bound so far is called no more.
    void end() { lives_ = std::make_shared<const bool>(true); }

  private:
    std::shared_ptr<const bool> lives_ = std::make_shared<const bool>(true);
};

}  // namespace pace::base
