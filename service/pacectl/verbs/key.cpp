#include "service/pacectl/verbs/key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "service/controller/keys/allowed_keys.h"
#include "service/controller/zmq/curve_keys.h"
#include "service/pacectl/columns/columns.h"
#include "service/pacectl/console/output.h"

namespace pace::pacectl {

namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using base::make_error;
using base::Result;
using controller::AllowedKeys;

constexpr mode_t kFileMode = 0644;

// Writes the file as a whole: a controller that reads meanwhile gets the old text or the new one.
// The controller skips the temporary name, which has another ending.
Result<> write_whole(const std::string& path, const std::string& text) {
    const std::string temporary = fmt::format("{}.new-{}", path, getpid());
    std::ofstream file(temporary, std::ios::trunc);
    file << text;
    file.close();
    if (!file || chmod(temporary.c_str(), kFileMode) != 0 ||
        rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        unlink(temporary.c_str());
        return base::make_errno_error(error, "write " + path);
    }
    return {};
}

// A key as text, or the name of a file with one.
Result<control_zmq::PublicKey> key_of(const std::string& given) {
    auto key = control_zmq::PublicKey::parse(given);
    std::error_code error;
    if (key || !fs::exists(given, error)) {
        if (key) return key;
        return make_error(ErrorKind::invalid, "{} is neither a file nor a public key: {}", given,
                          key.error().message);
    }
    if (given.ends_with(".secret"))
        return make_error(ErrorKind::invalid,
                          "{} is a secret key, which stays on its node; give the .public file",
                          given);
    return control_zmq::PublicKey::read(given);
}

std::string lines_of(std::string users) {
    std::replace(users.begin(), users.end(), ',', '\n');
    return users + "\n";
}

std::string users_text(const AllowedKeys::Holder& holder) {
    if (holder.all_users) return "all";
    std::string text;
    for (const auto& [first, last] : holder.users)
        text += (text.empty() ? "" : ",") +
                (first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    return text.empty() ? "none" : text;
}

}  // namespace

KeyCommand::KeyCommand(CLI::App& app) {
    CLI::App* const key =
        app.add_subcommand("key", "The keys of the nodes that may connect to this controller.")
            ->require_subcommand(1);
    add_ = key->add_subcommand("add", "Lets a node in, from now on.");
    add_->add_option("name", name_,
                     "The node's name. @NAME is a key that several nodes share: they may take "
                     "every name that has no key of its own.")
        ->required();
    add_->add_option("key", key_, "The node's .public file, or the 40 characters in it.")
        ->required();
    add_->add_option("--users", users_,
                     "The numbers of the users that the node may bring, such as 1000-1999,2500. "
                     "Default: all.");
    add_->add_flag("--replace", replace_, "Takes the place of the node's earlier key.");
    remove_ = key->add_subcommand(
        "remove", "Keeps a node out, from now on. Its connection ends within seconds.");
    remove_->add_option("name", name_, "The node's name.")->required();
    list_ = key->add_subcommand("list", "The nodes, their users and their keys.");
    for (CLI::App* command : {add_, remove_, list_}) {
        command->add_option("--folder", folder_, "The controller's curve_allowed_dir.")
            ->capture_default_str();
        command->add_flag("--json", json_, "What was done or found, for programs.");
    }
}

bool KeyCommand::is_parsed() const {
    return add_->parsed() || remove_->parsed() || list_->parsed();
}

int KeyCommand::run() const {
    const auto text = add_->parsed() ? add() : remove_->parsed() ? remove() : list();
    if (!text) return say_local_error(text.error());
    return print(*text);
}

Result<std::string> KeyCommand::add() const {
    if (!AllowedKeys::is_holder(name_))
        return make_error(ErrorKind::invalid,
                          "\"{}\" can be no node's name; use letters, digits, '.', '_' and '-'",
                          name_);
    PACE_TRY_ASSIGN(key, key_of(key_));
    PACE_TRY_ASSIGN(keys, AllowedKeys::read(folder_, {}));
    if (const auto* held = keys.find(key.z85()); held != nullptr && held->name != name_)
        return make_error(ErrorKind::taken, "that key is {}'s; each node needs its own",
                          held->name);
    if (!replace_ && keys.names().contains(name_))
        return make_error(ErrorKind::taken,
                          "{} has a key already; --replace puts this one in its place", name_);
    const std::string path = fmt::format("{}/{}", folder_, name_);
    if (!users_.empty()) {
        const std::string lines = lines_of(users_);
        if (const auto parsed = controller::parse_users(lines); !parsed)
            return make_error(ErrorKind::invalid, "--users {}: {}", users_, parsed.error().message);
        PACE_TRY(write_whole(path + ".users", lines));
    } else if (unlink((path + ".users").c_str()) != 0 && errno != ENOENT) {
        return base::make_errno_error(errno, "remove " + path + ".users");
    }
    PACE_TRY(write_whole(path + ".public", key.z85() + "\n"));
    if (json_) return json_text({{"name", name_}, {"key", key.z85()}, {"added", true}});
    return fmt::format("{} may connect, with users: {}\n", name_, users_.empty() ? "all" : users_);
}

Result<std::string> KeyCommand::remove() const {
    if (!AllowedKeys::is_holder(name_))
        return make_error(ErrorKind::invalid, "\"{}\" can be no node's name", name_);
    const std::string path = fmt::format("{}/{}", folder_, name_);
    if (unlink((path + ".public").c_str()) != 0) {
        if (errno == ENOENT) return make_error(ErrorKind::not_found, "there is no {}.public", path);
        return base::make_errno_error(errno, "remove " + path + ".public");
    }
    unlink((path + ".users").c_str());
    if (json_) return json_text({{"name", name_}, {"key", nullptr}, {"added", false}});
    return fmt::format("{} may not connect any more\n", name_);
}

Result<std::string> KeyCommand::list() const {
    PACE_TRY_ASSIGN(keys, AllowedKeys::read(folder_, {}));
    Json nodes = Json::array();
    Columns columns({"node", "users", "key"});
    for (const auto& [name, key] : keys.names()) {
        const std::string users = users_text(*keys.find(key));
        columns.add({name, users, key});
        nodes.push_back({{"name", name}, {"users", users}, {"key", key}});
    }
    if (json_) return json_text({{"keys", nodes}, {"problems", keys.problems()}});
    std::string text = columns.empty() ? "no keys\n" : columns.text("");
    for (const std::string& problem : keys.problems()) text += "problem: " + problem + "\n";
    return text;
}

}  // namespace pace::pacectl
