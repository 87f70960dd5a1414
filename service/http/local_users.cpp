#include "service/http/local_users.h"

#include <pwd.h>
#include <unistd.h>

#include <charconv>

namespace pace::http {

namespace {

bool is_number(const std::string& name, uid_t& number) {
    const char* const end = name.data() + name.size();
    const auto [stopped, failed] = std::from_chars(name.data(), end, number);
    return failed == std::errc{} && stopped == end;
}

}  // namespace

LocalUsers::LocalUsers() : users_{0, geteuid()} {}

base::Result<LocalUsers> LocalUsers::from(const std::vector<std::string>& names) {
    LocalUsers users;
    for (const std::string& name : names) PACE_TRY(users.add(name));
    return users;
}

base::Result<> LocalUsers::add(const std::string& name) {
    if (name == "*") {
        everyone_ = true;
        return {};
    }
    uid_t number = 0;
    if (is_number(name, number)) {
        users_.insert(number);
        return {};
    }
    const passwd* const found = getpwnam(name.c_str());
    if (found == nullptr)
        return base::make_error(base::ErrorKind::invalid,
                                "http_users names '{}', and this machine has no such user; name "
                                "users as `getent passwd` shows them, or by number",
                                name);
    users_.insert(found->pw_uid);
    return {};
}

}  // namespace pace::http
