// AllowedKeys: the public keys in curve_allowed_dir, the node that each belongs to, and the users
// that the node may bring. A value: a change of the folder makes another one.
//
// NAME.public is the key of the node NAME alone. @NAME.public is a key that several nodes share:
// its holders may use every name that has no key of its own. NAME.users or @NAME.users has the
// numbers of the users that the key's holders may bring, one number or range (1000-1999) a line.
// Without such a file they may bring every user. A line that begins with # is a comment.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/controller/keys/rights.h"

namespace pace::controller {

class AllowedKeys final : public Rights {
  public:
    // The most files that are read, and the most bytes of a file with users. What is beyond is
    // reported as a problem.
    static constexpr size_t kFilesMax = 65'536;
    static constexpr size_t kUsersBytesMax = size_t{64} * 1024;

    struct Users {
        uint32_t first = 0;
        uint32_t last = 0;
        bool operator==(const Users&) const = default;
    };
    struct Holder {
        std::string name;  // of the file, without its ending
        bool all_users = true;
        std::vector<Users> users;

        // Whether several nodes share the key.
        bool is_shared() const { return name.starts_with('@'); }
        bool operator==(const Holder&) const = default;
    };
    bool operator==(const AllowedKeys& other) const {
        return holders_ == other.holders_ && problems_ == other.problems_;
    }

    // Blocks: reads every file of the folder. Errors: invalid if the folder cannot be read. A file
    // that cannot be used is a problem: it counts as it was in `earlier`, if it was there.
    static base::Result<AllowedKeys> read(const std::string& folder, const AllowedKeys& earlier);

    // One sentence for each file that cannot be used.
    const std::vector<std::string>& problems() const { return problems_; }
    size_t size() const { return holders_.size(); }
    // The key of each holder, by the holder's name.
    const std::map<std::string, std::string, std::less<>>& names() const { return keys_; }
    // Whether a file of this name (without its ending) can have a key.
    static bool is_holder(std::string_view name);
    // Null if the key is not here.
    const Holder* find(std::string_view key) const;

    std::optional<base::Error> refusal(std::string_view key) const override;
    std::optional<base::Error> refusal_of_name(std::string_view key,
                                               std::string_view name) const override;
    bool may_bring(std::string_view key, uint32_t uid) const override;

  private:
    void add(const std::string& name, const std::string& path, const AllowedKeys& earlier);
    void add_users(const std::string& name, const std::string& path, const AllowedKeys& earlier);

    std::map<std::string, Holder, std::less<>> holders_;    // by key, as Z85
    std::map<std::string, std::string, std::less<>> keys_;  // by name
    std::vector<std::string> problems_;
};

// Reads the text of a file with users. Errors: invalid, with the line.
base::Result<std::vector<AllowedKeys::Users>> parse_users(std::string_view text_untrusted);

}  // namespace pace::controller
