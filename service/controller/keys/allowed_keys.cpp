#include "service/controller/keys/allowed_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "protocol/options/names.h"
#include "service/controller/zmq/curve_keys.h"

namespace pace::controller {

namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

constexpr std::string_view kKeyEnding = ".public";
constexpr std::string_view kUsersEnding = ".users";

class Everyone final : public Rights {
  public:
    std::optional<base::Error> refusal(std::string_view /*key*/) const override { return {}; }
    std::optional<base::Error> refusal_of_name(std::string_view /*key*/,
                                               std::string_view /*name*/) const override {
        return {};
    }
    bool may_bring(std::string_view /*key*/, uint32_t /*uid*/) const override { return true; }
};

// Reads at most `bytes_max` bytes of a plain file. A pipe or a device would hold up the reader.
base::Result<std::string> read_text(const std::string& path, size_t bytes_max) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        return base::make_error(ErrorKind::invalid, "{} is no plain file", path);
    const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return base::make_errno_error(errno, "read " + path);
    std::string text(bytes_max + 1, '\0');
    size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
        if (got < 0) return base::make_errno_error(errno, "read " + path);
        if (got == 0) break;
        size += static_cast<size_t>(got);
    }
    if (size > bytes_max)
        return base::make_error(ErrorKind::limit, "{} is longer than {} bytes", path, bytes_max);
    text.resize(size);
    return text;
}

// The key is the file's first word.
base::Result<control_zmq::PublicKey> read_key(const std::string& path) {
    constexpr size_t kKeyBytesMax = 4096;
    PACE_TRY_ASSIGN(text, read_text(path, kKeyBytesMax));
    auto key = control_zmq::PublicKey::parse(
        std::string_view(text).substr(0, text.find_first_of(" \t\r\n")));
    if (!key) return base::make_error(key.error().kind, "{}: {}", path, key.error().message);
    return key;
}

// The whole word as a number; false if it is none.
bool read_number(std::string_view word, uint32_t& ret_number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ret_number);
    return error == std::errc() && end == word.data() + word.size();
}

std::string_view trimmed(std::string_view line) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

const Rights& Rights::of_everyone() {
    static const Everyone kEveryone;
    return kEveryone;
}

base::Result<std::vector<AllowedKeys::Users>> parse_users(std::string_view text_untrusted) {
    std::vector<AllowedKeys::Users> all;
    size_t number = 0;
    while (!text_untrusted.empty()) {
        const size_t end = std::min(text_untrusted.find('\n'), text_untrusted.size());
        const std::string_view line = trimmed(text_untrusted.substr(0, end));
        text_untrusted.remove_prefix(std::min(end + 1, text_untrusted.size()));
        ++number;
        if (line.empty() || line.starts_with('#')) continue;
        const size_t dash = line.find('-');
        AllowedKeys::Users users;
        bool good = read_number(trimmed(line.substr(0, dash)), users.first);
        users.last = users.first;
        if (dash != std::string_view::npos)
            good = good && read_number(trimmed(line.substr(dash + 1)), users.last);
        if (!good || users.last < users.first)
            return base::make_error(ErrorKind::invalid,
                                    "line {} is neither the number of a user nor a range of "
                                    "numbers, such as 1000-1999",
                                    number);
        all.push_back(users);
    }
    return all;
}

base::Result<AllowedKeys> AllowedKeys::read(const std::string& folder, const AllowedKeys& earlier) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (paths.size() == kFilesMax) break;
        const std::string ending = at->path().extension().string();
        if (ending == kKeyEnding || ending == kUsersEnding) paths.push_back(at->path());
    }
    if (error)
        return base::make_error(ErrorKind::invalid, "curve_allowed_dir {}: {}", folder,
                                error.message());
    AllowedKeys keys;
    if (paths.size() == kFilesMax)
        keys.problems_.push_back(
            fmt::format("{} has more than {} files; the rest is not read", folder, kFilesMax));
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths)
        if (path.extension() == kKeyEnding) keys.add(path.stem().string(), path.string(), earlier);
    for (const fs::path& path : paths)
        if (path.extension() == kUsersEnding)
            keys.add_users(path.stem().string(), path.string(), earlier);
    return keys;
}

bool AllowedKeys::is_holder(std::string_view name) {
    return protocol::is_name(name.starts_with('@') ? name.substr(1) : name);
}

void AllowedKeys::add(const std::string& name, const std::string& path,
                      const AllowedKeys& earlier) {
    if (!is_holder(name)) {
        problems_.push_back(fmt::format("{}: \"{}\" can be no node's name", path, name));
        return;
    }
    std::string key;
    if (const auto read = read_key(path)) {
        key = read->z85();
    } else {
        problems_.push_back(read.error().message);
        const auto before = earlier.keys_.find(name);
        if (before == earlier.keys_.end()) return;
        key = before->second;
    }
    const auto [held, is_new] = holders_.try_emplace(key, Holder{.name = name, .users = {}});
    if (!is_new) {
        problems_.push_back(fmt::format("{} has the key that {}.public has; it belongs to {}", path,
                                        held->second.name, held->second.name));
        return;
    }
    keys_.emplace(name, key);
}

// Users without a key are left for the key to come. A file that cannot be used lets nobody in who
// was not let in before.
void AllowedKeys::add_users(const std::string& name, const std::string& path,
                            const AllowedKeys& earlier) {
    const auto key = keys_.find(name);
    if (key == keys_.end()) return;
    Holder& holder = holders_.at(key->second);
    holder.all_users = false;
    const auto text = read_text(path, kUsersBytesMax);
    auto users =
        text ? parse_users(*text) : base::Result<std::vector<Users>>(base::Error(text.error()));
    if (users) {
        holder.users = std::move(*users);
        return;
    }
    problems_.push_back(text ? fmt::format("{}: {}", path, users.error().message)
                             : users.error().message);
    const auto before = earlier.keys_.find(name);
    if (before == earlier.keys_.end()) return;
    const Holder& then = earlier.holders_.at(before->second);
    if (!then.all_users) holder.users = then.users;
}

const AllowedKeys::Holder* AllowedKeys::find(std::string_view key) const {
    const auto found = holders_.find(key);
    return found == holders_.end() ? nullptr : &found->second;
}

std::optional<base::Error> AllowedKeys::refusal(std::string_view key) const {
    if (find(key) != nullptr) return {};
    return base::make_error(ErrorKind::denied,
                            "its key is not in curve_allowed_dir (any more); copy that daemon's "
                            ".public file there");
}

std::optional<base::Error> AllowedKeys::refusal_of_name(std::string_view key,
                                                        std::string_view name) const {
    const Holder* const holder = find(key);
    if (holder == nullptr) return refusal(key);
    if (holder->name == name) return {};
    if (!holder->is_shared())
        return base::make_error(ErrorKind::denied,
                                "its key is that of node {}: the file in curve_allowed_dir is "
                                "{}.public. Set that daemon's name to {}, or give it a key of its "
                                "own",
                                holder->name, holder->name, holder->name);
    if (!keys_.contains(name)) return {};
    return base::make_error(ErrorKind::denied,
                            "node {} has a key of its own, and this daemon has the shared key {}",
                            name, holder->name);
}

bool AllowedKeys::may_bring(std::string_view key, uint32_t uid) const {
    const Holder* const holder = find(key);
    if (holder == nullptr) return false;
    return holder->all_users ||
           std::any_of(holder->users.begin(), holder->users.end(), [uid](const Users& users) {
               return users.first <= uid && uid <= users.last;
           });
}

}  // namespace pace::controller
