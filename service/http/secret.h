// Secrets: reads files that others cannot read, and compares a client's text with a secret.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::http {

// Reads the whole of a small file. `setting` names the file in errors. Blocks, so it is only for
// the start.
base::Result<std::string> read_small_file(std::string_view setting, const std::string& path);

// Does the same for a file that others can neither read nor change, or for the credential that
// systemd passes in its place (base/secret_file.h).
base::Result<std::string> read_secret_file(std::string_view setting, const std::string& path);

// Reads a token: one line of 16 to 256 visible ASCII characters.
base::Result<std::string> read_token(std::string_view setting, const std::string& path);

// The time depends on the length of `given`, not on how much of it is right.
bool is_same_secret(std::string_view given, std::string_view secret);

// Returns the token of "Bearer TOKEN". Empty if the header is of another kind.
std::string_view bearer_token(std::string_view authorization);

}  // namespace pace::http
