// LetterWatch: looks for letters between the nodes of a model that do not come, and asks for
// another view. In that view, all nodes say again what has not been answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/families/serving/server_mail.h"
#include "daemon/families/serving/shard_host.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class LetterWatch {
  public:
    LetterWatch(JobState& job, const ShardHost& host, const ServerMail& mail)
        : job_(job), host_(host), mail_(mail) {}

    // Called a few times a second. Returns the nodes that this node has long waited for.
    std::vector<NodeId> look(base::TimePoint now);

  private:
    void want_view(const std::string& reason, base::Duration silent);

    JobState& job_;
    const ShardHost& host_;
    const ServerMail& mail_;
    std::optional<base::TimePoint> awaits_model_since_;
};

}  // namespace pace::daemon
