// KeyCommand: `pacectl key add`, `pacectl key remove` and `pacectl key list`, which change and show
// the folder of keys that may connect to a controller (its curve_allowed_dir). The controller reads
// the folder again by itself.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace pace::pacectl {

class KeyCommand {
  public:
    // Adds itself to the command line, which keeps a reference to it.
    explicit KeyCommand(CLI::App& app);
    KeyCommand(const KeyCommand&) = delete;
    KeyCommand& operator=(const KeyCommand&) = delete;

    bool is_parsed() const;
    // Returns the exit code, as in commands.h.
    int run() const;

  private:
    base::Result<std::string> add() const;
    base::Result<std::string> remove() const;
    base::Result<std::string> list() const;

    std::string folder_ = "/etc/pace/keys/allowed";
    std::string name_;
    std::string key_;    // a file, or the key itself
    std::string users_;  // comma-separated; empty: none given
    bool replace_ = false;
    bool json_ = false;
    CLI::App* add_ = nullptr;
    CLI::App* remove_ = nullptr;
    CLI::App* list_ = nullptr;
};

}  // namespace pace::pacectl
