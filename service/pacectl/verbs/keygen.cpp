#include <unistd.h>

#include <optional>
#include <string>

#include "service/controller/zmq/curve_keys.h"
#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/facts/key_files.h"

namespace pace::pacectl {

namespace {

using base::Result;

constexpr mode_t kSecretMode = 0600;
constexpr mode_t kSecretModeOfGroup = 0640;
constexpr mode_t kPublicMode = 0644;

// None if the files stay with the caller. Root keeps its files: the services' units have systemd
// read them, and a service's own user need not.
Result<std::optional<KeyOwner>> owner_of(const KeygenOptions& options) {
    if (options.owner.empty() && options.group.empty()) return std::optional<KeyOwner>();
    PACE_TRY_ASSIGN(owner, find_owner(options.owner, options.group));
    return std::optional(owner);
}

Result<> give_both(const std::string& prefix, const std::optional<KeyOwner>& owner) {
    if (!owner) return {};
    PACE_TRY(give_key_file(prefix + ".secret", owner,
                           owner->group_reads ? kSecretModeOfGroup : kSecretMode));
    return give_key_file(prefix + ".public", owner, kPublicMode);
}

std::string keygen_text(const std::string& prefix, const std::optional<KeyOwner>& owner,
                        const std::string& z85) {
    std::string readers = geteuid() == 0 ? "readable for root alone" : "readable for you alone";
    if (owner)
        readers = fmt::format("belongs to {}:{}, readable for {} alone", owner->user, owner->group,
                              owner->group_reads ? "both" : owner->user);
    return fmt::format("{0}.secret  keep it on this machine; {1}\n{0}.public  {2}\n", prefix,
                       readers, z85);
}

}  // namespace

int generate_keys(const KeygenOptions& options) {
    const auto owner = owner_of(options);
    if (!owner) return say_local_error(owner.error());
    const auto key = control_zmq::generate_key_pair(options.prefix);
    if (!key) return say_local_error(key.error());
    if (const auto given = give_both(options.prefix, *owner); !given) {
        // Keys that their owner cannot read would look as if all had succeeded.
        unlink((options.prefix + ".secret").c_str());
        unlink((options.prefix + ".public").c_str());
        return say_local_error(given.error());
    }
    if (!options.json) return print(keygen_text(options.prefix, *owner, key->z85()));
    Json json{{"secret", options.prefix + ".secret"},
              {"public", options.prefix + ".public"},
              {"key", key->z85()},
              {"owner", nullptr},
              {"group", nullptr}};
    if (*owner) json.update({{"owner", (*owner)->user}, {"group", (*owner)->group}});
    return print(json_text(json));
}

}  // namespace pace::pacectl
