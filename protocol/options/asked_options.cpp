#include "protocol/options/asked_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "protocol/options/limits.h"
#include "protocol/options/option_table.h"
#include "protocol/options/printable.h"

namespace pace::protocol {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// The number of bytes that an error message shows of a name or word from somebody else.
constexpr size_t kShownBytesMax = 64;

std::string shown(std::string_view text_untrusted) {
    return printable(text_untrusted.substr(0, kShownBytesMax));
}

std::string_view noun_of(OptionKind kind) {
    switch (kind) {
        case OptionKind::integer:
            return "an integer";
        case OptionKind::real:
            return "a real number";
        case OptionKind::text:
            return "a text";
        case OptionKind::bytes:
            return "bytes";
    }
    return "of no kind";
}

size_t changes_between(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row.back();
}

Error unknown(std::string_view name_untrusted) {
    const std::string name = shown(name_untrusted);
    std::string_view nearest;
    // The fewest changes so far. A name that needs four or more changes is no typing error.
    size_t fewest = 4;
    for (const OptionRow& row : option_table()) {
        const bool is_suffix = row.name.size() > name.size() && row.name.ends_with(name) &&
                               row.name[row.name.size() - name.size() - 1] == '.';
        const size_t changes = is_suffix ? 0 : changes_between(name, row.name);
        if (changes >= fewest) continue;
        fewest = changes;
        nearest = row.name;
    }
    if (nearest.empty())
        return make_error(ErrorKind::invalid,
                          "there is no option '{}'; `pacectl options` lists those that there are, "
                          "and a newer one needs a newer Pace on this side too",
                          name);
    return make_error(ErrorKind::invalid, "there is no option '{}'; is {} meant?", name, nearest);
}

// Converts a value to the row's kind. An integer is accepted for a real number.
Result<OptionValue> of_kind(const OptionRow& row, const OptionValue& given) {
    OptionValue value = given;
    if (row.field.kind == OptionKind::real && given.kind() == OptionKind::integer)
        value.value = static_cast<double>(std::get<int64_t>(given.value));
    if (value.kind() == row.field.kind) return value;
    return make_error(ErrorKind::invalid, "{} is {}; give {}", row.name, noun_of(given.kind()),
                      values_text(row));
}

Result<> check_bounds(const OptionRow& row, const OptionValue& value) {
    double measured = row.least;
    if (row.field.kind == OptionKind::integer)
        measured = static_cast<double>(std::get<int64_t>(value.value));
    if (row.field.kind == OptionKind::real) measured = std::get<double>(value.value);
    // The condition is written so that NaN is refused, too.
    if (row.field.kind != OptionKind::bytes) {
        if (measured >= row.least && measured <= row.greatest) return {};
        return make_error(ErrorKind::invalid, "{} is {}; give {}{}", row.name, text_of(value),
                          values_text(row),
                          measured == 0 ? ", or leave it out for the default" : "");
    }
    const size_t size = std::get<std::vector<uint8_t>>(value.value).size();
    constexpr size_t kPair = 2 * sizeof(uint32_t);
    if (size >= kPair && size % kPair == 0 && size / kPair <= static_cast<size_t>(row.greatest))
        return {};
    return make_error(ErrorKind::invalid,
                      "{} has {} bytes; give {}, as two 32-bit numbers each, the least byte first, "
                      "or leave it out",
                      row.name, size, values_text(row));
}

Result<> read_one(const OptionRow& row, const OptionValue& given, JobOptions& ret_options) {
    PACE_TRY_ASSIGN(value, of_kind(row, given));
    PACE_TRY(check_bounds(row, value));
    if (row.field.write(ret_options, value)) return {};
    return make_error(ErrorKind::invalid, "{} is '{}'; use {}", row.name,
                      shown(std::get<std::string>(value.value)), values_text(row));
}

Result<> check_scope(const OptionRow& row, const OptionValue& given, const JobOptions& options) {
    if (counts(row, options)) return {};
    const bool is_known = fits(row.scope, *find(options.policy));
    const std::string words = is_known ? std::string(row.need.words) : words_of(row.scope);
    const std::string value = given.kind() == OptionKind::bytes ? "given" : shown(text_of(given));
    return make_error(ErrorKind::invalid,
                      "{} is {}, but it counts with {} alone; leave it out or use {}", row.name,
                      value, words, words);
}

}  // namespace

Result<JobOptions> read_options(const AskedOptions& asked) {
    JobOptions options;
    options.name = asked.name;
    options.world = asked.world;
    const PolicyRow* const policy = find_policy(asked.policy);
    if (policy == nullptr)
        return make_error(ErrorKind::invalid, "policy is '{}'; use {}", shown(asked.policy),
                          listed(words_of(Policy{})));
    options.policy = policy->policy;

    std::vector<std::pair<const OptionRow*, const OptionValue*>> given;
    for (const OptionValue& value : asked.values) {
        const OptionRow* const row = find_option(value.name);
        if (row == nullptr && value.hint) continue;
        if (row == nullptr) return unknown(value.name);
        for (const auto& [earlier, unused] : given) {
            if (earlier == row)
                return make_error(ErrorKind::invalid, "{} is given twice; give it once", row->name);
        }
        PACE_TRY(read_one(*row, value, options));
        given.emplace_back(row, &value);
    }
    for (const auto& [row, value] : given) PACE_TRY(check_scope(*row, *value, options));
    return options;
}

AskedOptions::AskedOptions(const JobOptions& options)
    : AskedOptions(options.name, options.world, std::string(name_of(options.policy))) {
    const JobOptions defaults;
    for (const OptionRow& row : option_table()) {
        OptionValue value = value_of(row, options);
        if (value != value_of(row, defaults)) values.push_back(std::move(value));
    }
}

AskedOptions write_options(const JobOptions& options) {
    AskedOptions asked(options.name, options.world, std::string(name_of(options.policy)));
    for (const OptionRow& row : option_table()) {
        if (counts(row, options) && !is_absent(row, options))
            asked.values.push_back(value_of(row, options));
    }
    return asked;
}

std::string differences_of(const JobOptions& asked, const JobOptions& of_job) {
    std::string text;
    const auto tell = [&](std::string_view name, const auto& ours, const auto& theirs) {
        text +=
            fmt::format("{}{} {} (the job has {})", text.empty() ? "" : ", ", name, ours, theirs);
    };
    if (asked.world != of_job.world) tell("world", asked.world, of_job.world);
    if (asked.policy != of_job.policy)
        tell("policy", name_of(asked.policy), name_of(of_job.policy));
    for (const OptionRow& row : option_table()) {
        // If an option counts in only one of the jobs, another difference says so.
        if (!counts(row, asked) || !counts(row, of_job) || row.field.kind == OptionKind::bytes)
            continue;
        const OptionValue ours = value_of(row, asked);
        const OptionValue theirs = value_of(row, of_job);
        if (ours == theirs) continue;
        const auto said = [&row](const JobOptions& options, const OptionValue& value) {
            return is_absent(row, options) ? "its default" : text_of(value);
        };
        tell(row.name, said(asked, ours), said(of_job, theirs));
    }
    return text;
}

}  // namespace pace::protocol
