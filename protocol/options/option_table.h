// The table of a job's options. An option is declared here and nowhere else. The C interface, the
// wire, the journal, the comparison when a worker joins, pacectl's flags and JSON, and
// docs/options.md follow from the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/options/job_options.h"
#include "protocol/options/option_value.h"

namespace pace::protocol {

// The policies in whose jobs an option counts: those of `family` that take all of `takes`. Without
// a family, the policies of every family that take all of `takes`.
struct Scope {
    std::optional<Family> family;
    uint32_t takes = 0;
};

bool fits(const Scope& scope, const PolicyRow& policy);

std::vector<std::string_view> policies_of(const Scope& scope);

// Returns the policies in words: "policy bsp, ssp or asp".
std::string words_of(const Scope& scope);

// A further condition for an option to count.
struct Need {
    bool (*holds)(const JobOptions&) = nullptr;  // null: no condition
    std::string_view words;                      // e.g. "compression spardl"
};

// One interface for the members of JobOptions, whatever their types.
struct Field {
    OptionKind kind = OptionKind::integer;
    void (*read)(const JobOptions&, OptionValue& ret_value) = nullptr;
    // The value must have the field's kind, and a number must be within the row's bounds. Returns
    // false if the word is none of `words`.
    bool (*write)(JobOptions&, const OptionValue&) = nullptr;
    Words (*words)() = nullptr;  // the words of a choice; otherwise null
};

struct OptionRow {
    std::string_view name;  // e.g. "topk.density"
    Field field;
    Scope scope;
    Need need;
    // The bounds of numbers. Both bounds are allowed values.
    double least = 0;
    double greatest = 0;
    // The default in words if JobOptions{} does not have the default: "min(3, world)".
    std::string_view initial;
    std::string_view help;  // whole sentences
};

std::span<const OptionRow> option_table();

// Returns null if there is no option of this name.
const OptionRow* find_option(std::string_view name);

// Whether the option is a switch, on or off: an integer, 0 or 1.
bool is_switch(const OptionRow& row);

// Whether the option counts in a job of these options.
bool counts(const OptionRow& row, const JobOptions& options);

// Whether the option is absent, so that Pace chooses its value.
bool is_absent(const OptionRow& row, const JobOptions& options);

OptionValue value_of(const OptionRow& row, const JobOptions& options);

// The default as people write it: "0.01", "closest", "min(3, world)".
std::string initial_text(const OptionRow& row);

// The allowed values: "integer, 2 to 65536", "closest or initial", "pairs of ranks".
std::string values_text(const OptionRow& row);

// The value as text: "0.5", "closest". A graph is written as its edges: "0-1,1-2".
std::string text_of(const OptionValue& value);

// Reads a value that somebody has typed.
base::Result<OptionValue> value_from_text(const OptionRow& row, std::string_view text);

}  // namespace pace::protocol
