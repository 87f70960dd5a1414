#include <unistd.h>

#include <optional>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/findings/findings.h"

namespace pace::pacectl {

namespace {

constexpr mode_t kFixedMode = 0600;

// Repairs key files; returns what was changed, and what could not be.
Findings fix_keys(const KeyFacts& keys) {
    const KeyOwner root{0, 0, "root", "root", false};
    Findings done;
    for (const KeyFile& file : keys_to_fix(keys)) {
        // Only root can give files away: others close their own.
        const bool to_root = geteuid() == 0 && is_for_root(keys, file);
        const auto given =
            give_key_file(file.path, to_root ? std::optional(root) : std::nullopt, kFixedMode);
        if (given)
            done.push_back(ok(
                "fixed", fmt::format("{}: {}mode 0600", file.path, to_root ? "root:root, " : "")));
        else
            done.push_back(fail("not fixed", printable(given.error().message),
                                "run pacectl doctor --fix as root"));
    }
    return done;
}

}  // namespace

int run_doctor(const client::Endpoint& endpoint, const DoctorOptions& options) {
    Facts facts = gather_facts(endpoint, options.keys);
    Findings findings;
    if (options.fix) {
        findings = fix_keys(facts.keys);
        facts.keys.folder = look_at_keys(options.keys, facts.keys.trainers);
    }
    const Findings judged = judge(facts);
    findings.insert(findings.end(), judged.begin(), judged.end());
    const int printed =
        print(options.json ? json_text(findings_json(findings)) : findings_text(findings));
    return any_failed(findings) ? kNo : printed;
}

}  // namespace pace::pacectl
