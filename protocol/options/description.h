// The table of policies and options as documents: JSON for programs, Markdown for people.
#pragma once

#include <string>

namespace pace::protocol {

// {"policies": [{"name", "family", "help"}], "options": [{"name", "kind", "values", "default", "family", "policies", "needs", "help"}]}
// kind is "integer", "real", "text" or "bytes"; numbers have "least" and "greatest", words "choices".
std::string options_json();

// Its two lists alone.
std::string options_list_json();
std::string policies_list_json();

// pace.h's constants: a line "#define PACE_OPT_TOPK_DENSITY "topk.density"" for each policy and option.
std::string constants();

// docs/options.md
std::string options_page();

}  // namespace pace::protocol
