// The table of policies and options as documents: JSON for programs, Markdown for people.
#pragma once

#include <string>

namespace pace::protocol {

// {"policies": [{"name", "family", "help"}], "options": [{"name", "kind", "values", "default", "policies", "needs", "help"}]}
// kind is "integer", "real", "text" or "bytes"; numbers have "least" and "greatest", words "choices".
std::string options_json();

// docs/options.md
std::string options_page();

}  // namespace pace::protocol
