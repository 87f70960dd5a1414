// The protocol's versions. In both planes the first message has the versions that its sender
// speaks. The receiver takes the newest version that both sides speak. Two sides that share no
// version refuse each other, and the message names the versions.
//
// A release also speaks the version of the release before it. So a library works with the daemon of
// the release before and of the release after, and a daemon works with such a controller. Version 8
// is the first that tolerates others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace pace::protocol {

inline constexpr uint32_t kVersion = 8;
inline constexpr uint32_t kVersionLeast = 8;

struct Versions {
    uint32_t least = kVersionLeast;
    uint32_t greatest = kVersion;

    constexpr bool contain(uint32_t version) const {
        return version >= least && version <= greatest;
    }
};

// Returns the versions as a hello tells them. A hello from before version 8 has no `least`: its
// sender speaks one version alone.
constexpr Versions told_versions(uint32_t greatest, uint32_t least) {
    return {least == 0 || least > greatest ? greatest : least, greatest};
}

// Returns the newest version that both sides speak. Empty if they share none.
constexpr std::optional<uint32_t> common_version(Versions ours, Versions theirs) {
    const uint32_t newest = std::min(ours.greatest, theirs.greatest);
    if (!ours.contain(newest) || !theirs.contain(newest)) return std::nullopt;
    return newest;
}

// Returns the versions in words: "8", "8 to 9".
inline std::string in_words(Versions versions) {
    if (versions.least == versions.greatest) return std::to_string(versions.greatest);
    return std::to_string(versions.least) + " to " + std::to_string(versions.greatest);
}

}  // namespace pace::protocol
