// Secrets: files that nobody else may read, and how what a client sends is compared with them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::http {

// The whole of a small file. `setting` names it in errors. Blocks: for the start alone.
base::Result<std::string> read_small_file(std::string_view setting, const std::string& path);

// The same of one that others can neither read nor change.
base::Result<std::string> read_secret_file(std::string_view setting, const std::string& path);

// A token: one line of 16 to 256 visible ASCII characters.
base::Result<std::string> read_token(std::string_view setting, const std::string& path);

// How long it takes depends on the length of what was given, not on how much of it is right.
bool is_same_secret(std::string_view given, std::string_view secret);

// The token of "Bearer TOKEN"; empty if the header is of another kind.
std::string_view bearer_token(std::string_view authorization);

}  // namespace pace::http
