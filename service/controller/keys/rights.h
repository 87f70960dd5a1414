// Rights: what the holder of a key may do at a controller. The dispatcher asks.
//
// `key` is the public key of a connection, as text. It is empty where the controller does not tell
// keys apart: it has none, or it has no list of keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::controller {

class Rights {
  public:
    virtual ~Rights() = default;

    // Why this key may not say anything here any more; none if it may.
    virtual std::optional<base::Error> refusal(std::string_view key) const = 0;

    // Why the daemon with this key may not be the node `name`; none if it may.
    virtual std::optional<base::Error> refusal_of_name(std::string_view key,
                                                       std::string_view name) const = 0;

    // Whether the daemon with this key may bring workers of this user, and act for the user.
    virtual bool may_bring(std::string_view key, uint32_t uid) const = 0;

    // Everybody may do everything.
    static const Rights& of_everyone();
};

}  // namespace pace::controller
