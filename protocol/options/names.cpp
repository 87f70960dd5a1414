#include "protocol/options/names.h"

#include <algorithm>

#include "protocol/options/limits.h"

namespace pace::protocol {

using base::ErrorKind;
using base::make_error;

bool is_name(std::string_view name_untrusted) {
    return !name_untrusted.empty() && name_untrusted.size() <= kNameBytesMax &&
           std::all_of(name_untrusted.begin(), name_untrusted.end(), is_name_byte);
}

base::Result<> check_job_name(std::string_view name_untrusted) {
    const std::string_view name = name_untrusted;
    if (name.empty()) return make_error(ErrorKind::invalid, "name is empty; give the job a name");
    if (name.size() > kNameBytesMax)
        return make_error(ErrorKind::invalid, "name has {} bytes; use at most {}", name.size(),
                          kNameBytesMax);
    // The message does not repeat the name: the name may hold any bytes.
    if (!is_name(name))
        return make_error(
            ErrorKind::invalid,
            "name has a byte that is not allowed; use letters, digits, '.', '_' and '-'");
    if (name == "." || name == "..")
        return make_error(ErrorKind::invalid, "name is {}, as a folder's; give the job another",
                          name);
    return {};
}

}  // namespace pace::protocol
