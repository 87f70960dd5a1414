// Names of jobs and nodes, as other processes give them. Folders and documents are named after
// them.
#pragma once

#include <string_view>

#include "base/result.h"

namespace pace::protocol {

constexpr bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

// Returns whether the name has 1 to kNameBytesMax of these bytes.
bool is_name(std::string_view name_untrusted);

// Fails with ErrorKind::invalid. The message says what to give instead.
base::Result<> check_job_name(std::string_view name_untrusted);

}  // namespace pace::protocol
