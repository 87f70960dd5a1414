#include "transports/tls/session/key_ring.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace pace::transports::tls {

KeyRing::Held::~Held() {
    OPENSSL_cleanse(&key_, sizeof(key_));
}

base::Result<> KeyRing::add(const InstanceId& instance, const PairKey& key) {
    if (const auto known = by_id_.find(key.id); known != by_id_.end()) {
        const Found& found = known->second;
        const bool is_same =
            found.instance == instance &&
            CRYPTO_memcmp(found.key->secret.data(), key.secret.data(), key.secret.size()) == 0;
        if (is_same) return {};
        return base::make_error(base::ErrorKind::taken,
                                "the id of the new key is another key's; make each key with a "
                                "random id of its own");
    }
    auto& keys = keys_[instance];
    keys.push_front(std::make_unique<Held>(key));
    by_id_.emplace(key.id, Found{&keys.front()->key(), instance});
    if (keys.size() > kKeysOfPeerMax) {
        drop(*keys.back());
        keys.pop_back();
    }
    return {};
}

bool KeyRing::forget(const InstanceId& instance) {
    const auto entry = keys_.find(instance);
    if (entry == keys_.end()) return false;
    for (const auto& held : entry->second) drop(*held);
    keys_.erase(entry);
    return true;
}

void KeyRing::drop(const Held& held) {
    by_id_.erase(held.key().id);
}

size_t KeyRing::count(const InstanceId& instance) const {
    const auto entry = keys_.find(instance);
    return entry == keys_.end() ? 0 : entry->second.size();
}

const PairKey* KeyRing::key(const InstanceId& instance, size_t newer) const {
    const auto entry = keys_.find(instance);
    if (entry == keys_.end() || newer >= entry->second.size()) return nullptr;
    return &entry->second[newer]->key();
}

std::optional<KeyRing::Found> KeyRing::find(std::span<const std::byte> id_untrusted) const {
    std::array<std::byte, 16> id{};
    if (id_untrusted.size() != id.size()) return std::nullopt;
    std::copy(id_untrusted.begin(), id_untrusted.end(), id.begin());
    const auto entry = by_id_.find(id);
    if (entry == by_id_.end()) return std::nullopt;
    return entry->second;
}

}  // namespace pace::transports::tls
