#include "daemon/runtime/actives.h"

namespace pace::daemon {

void Actives::add(std::weak_ptr<Active> exchange) {
    list_.push_back(std::move(exchange));
    if (began_) began_();
}

void Actives::remove(const Active* exchange) {
    std::erase_if(list_, [exchange](const std::weak_ptr<Active>& other) {
        return other.expired() || other.lock().get() == exchange;
    });
}

bool Actives::any() {
    std::erase_if(list_, [](const std::weak_ptr<Active>& other) { return other.expired(); });
    return !list_.empty();
}

}  // namespace pace::daemon
