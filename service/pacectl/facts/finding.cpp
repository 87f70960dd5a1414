#include "service/pacectl/facts/finding.h"

#include <algorithm>
#include <utility>

namespace pace::pacectl {

namespace {

struct Tally {
    size_t failures = 0;
    size_t warnings = 0;
};

Tally tally_of(const Findings& findings) {
    Tally tally;
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::warn) ++tally.warnings;
        if (finding.verdict == Verdict::fail) ++tally.failures;
    }
    return tally;
}

const char* word_of(Verdict verdict) {
    return verdict == Verdict::ok ? "ok" : verdict == Verdict::warn ? "warn" : "fail";
}

}  // namespace

Finding ok(std::string subject, std::string what) {
    return {Verdict::ok, std::move(subject), std::move(what), {}};
}

Finding warn(std::string subject, std::string what, std::string advice) {
    return {Verdict::warn, std::move(subject), std::move(what), std::move(advice)};
}

Finding fail(std::string subject, std::string what, std::string advice) {
    return {Verdict::fail, std::move(subject), std::move(what), std::move(advice)};
}

bool any_failed(const Findings& findings) {
    return tally_of(findings).failures > 0;
}

std::string findings_text(const Findings& findings) {
    std::string lines;
    for (const Finding& finding : findings) {
        const char* verdict = finding.verdict == Verdict::fail ? "FAIL" : word_of(finding.verdict);
        lines += fmt::format("{:<4}  {:<13}  {}\n", verdict, finding.subject, finding.what);
        if (!finding.advice.empty()) lines += fmt::format("{:21}→ {}\n", "", finding.advice);
    }
    const Tally tally = tally_of(findings);
    if (tally.failures + tally.warnings == 0) return lines + "\nall is well\n";
    return lines + fmt::format("\n{} failed, {} to look at\n", tally.failures, tally.warnings);
}

Json findings_json(const Findings& findings) {
    Json all = Json::array();
    for (const Finding& finding : findings) {
        Json json{{"verdict", word_of(finding.verdict)},
                  {"subject", finding.subject},
                  {"what", finding.what},
                  {"advice", nullptr}};
        if (!finding.advice.empty()) json["advice"] = finding.advice;
        all.push_back(std::move(json));
    }
    const Tally tally = tally_of(findings);
    return {{"findings", std::move(all)}, {"failed", tally.failures}, {"warned", tally.warnings}};
}

std::string named(const std::vector<std::string>& names) {
    constexpr size_t kNamed = 6;
    std::string text;
    const size_t shown = std::min(names.size(), kNamed);
    for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

}  // namespace pace::pacectl
