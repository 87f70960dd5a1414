// The protocol's versions. Both planes carry those that the sender speaks in their first message, and its receiver takes the newest that
// both do; two that share none are refused by name.
//
// A release speaks the version of the release before it too, so that a library works with the daemon of the release before and after,
// and a daemon with such a controller. Version 8 is the first that tolerates others.
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

// As a hello says them. One of before version 8 names no least: it speaks one version alone.
constexpr Versions told_versions(uint32_t greatest, uint32_t least) {
    return {least == 0 || least > greatest ? greatest : least, greatest};
}

// The newest that both speak.
constexpr std::optional<uint32_t> common_version(Versions ours, Versions theirs) {
    const uint32_t newest = std::min(ours.greatest, theirs.greatest);
    if (!ours.contain(newest) || !theirs.contain(newest)) return std::nullopt;
    return newest;
}

// "8", "8 to 9".
inline std::string in_words(Versions versions) {
    if (versions.least == versions.greatest) return std::to_string(versions.greatest);
    return std::to_string(versions.least) + " to " + std::to_string(versions.greatest);
}

}  // namespace pace::protocol
