// JournalWatch: logs when and why the journal begins to fail, and when it recovers.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace pace::controller {

class JournalWatch {
  public:
    // Called several times a second with the journal's current failure, if any.
    void look(const std::optional<base::Error>& failure);

  private:
    std::string told_;  // last failure logged; empty: none
};

}  // namespace pace::controller
