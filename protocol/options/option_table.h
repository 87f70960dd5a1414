// The table of a job's options: the one place in which an option is declared. The C interface, the wire, the journal, the
// comparison when a worker joins, pacectl's flags and JSON, and docs/options.md follow from it.
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

// The policies in whose jobs an option counts: of a family, if one is named, that take all of `takes`.
struct Scope {
    std::optional<Family> family;
    uint32_t takes = 0;
};

bool fits(const Scope& scope, const PolicyRow& policy);

std::vector<std::string_view> policies_of(const Scope& scope);

// "policy bsp, ssp or asp"
std::string words_of(const Scope& scope);

// What else must be so.
struct Need {
    bool (*holds)(const JobOptions&) = nullptr;  // null: nothing else
    std::string_view words;                      // "compression spardl"
};

// A member of JobOptions behind one interface, whatever its type.
struct Field {
    OptionKind kind = OptionKind::integer;
    void (*read)(const JobOptions&, OptionValue& ret_value) = nullptr;
    // The value's kind is the field's, and its number within the row's bounds; false: the word is none of `words`.
    bool (*write)(JobOptions&, const OptionValue&) = nullptr;
    Words (*words)() = nullptr;  // of a choice; else null
};

struct OptionRow {
    std::string_view name;  // "topk.density"
    Field field;
    Scope scope;
    Need need;
    double least = 0;     // of numbers, both allowed
    double greatest = 0;  //
    std::string_view
        initial;            // the default in words, where JobOptions{} has it not: "min(3, world)"
    std::string_view help;  // whole sentences
};

std::span<const OptionRow> option_table();

// Null if there is none of this name.
const OptionRow* find_option(std::string_view name);

// Whether it is either on or off: an integer, 0 or 1.
bool is_switch(const OptionRow& row);

// Whether the option counts in a job of these options.
bool counts(const OptionRow& row, const JobOptions& options);

// Whether it is absent, so that Pace chooses.
bool is_absent(const OptionRow& row, const JobOptions& options);

OptionValue value_of(const OptionRow& row, const JobOptions& options);

// The default as people write it: "0.01", "closest", "min(3, world)".
std::string initial_text(const OptionRow& row);

// "integer, 2 to 65536", "closest or initial", "pairs of ranks"
std::string values_text(const OptionRow& row);

// "0.5", "closest"; of a graph its edges: "0-1,1-2".
std::string text_of(const OptionValue& value);

// The value that somebody has typed.
base::Result<OptionValue> value_from_text(const OptionRow& row, std::string_view text);

}  // namespace pace::protocol
