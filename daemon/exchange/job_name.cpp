#include "daemon/exchange/job_name.h"

#include <algorithm>

#include "protocol/types.h"

namespace pace::daemon {

using base::ErrorKind;
using base::make_error;

base::Result<> check_job_name(std::string_view name_untrusted) {
    const std::string_view name = name_untrusted;
    if (name.empty()) return make_error(ErrorKind::invalid, "name is empty; give the job a name");
    if (name.size() > protocol::kNameBytesMax)
        return make_error(ErrorKind::invalid, "name has {} bytes; use at most {}", name.size(),
                          protocol::kNameBytesMax);
    // The name is not repeated: it may hold anything.
    if (!std::all_of(name.begin(), name.end(), protocol::is_name_byte))
        return make_error(
            ErrorKind::invalid,
            "name has a byte that is not allowed; use letters, digits, '.', '_' and '-'");
    if (name == "." || name == "..")
        return make_error(ErrorKind::invalid, "name is {}, as a folder's; give the job another",
                          name);
    return {};
}

}  // namespace pace::daemon
