// The table of policies and options as documents: JSON for programs, Markdown for people.
#pragma once

#include <string>

namespace pace::protocol {

// Returns the policies and the options:
//   {"policies": [{"name", "family", "help"}],
//    "options": [{"name", "kind", "values", "default", "family", "policies", "needs", "help"}]}
// "kind" is "integer", "real", "text" or "bytes". Numbers also have "least" and "greatest". Words
// also have "choices".
std::string options_json();

// Each of the two lists alone.
std::string options_list_json();
std::string policies_list_json();

// Returns the constants of pace.h: a line like "#define PACE_OPT_TOPK_DENSITY "topk.density"" for
// each policy and option.
std::string constants();

// Returns the page docs/options.md.
std::string options_page();

}  // namespace pace::protocol
