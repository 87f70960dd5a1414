// StatusFeed: requests the status document in the background, while the caller continues.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "libclient/link/endpoint.h"
#include "service/pacectl/console/document.h"

namespace pace::pacectl {

class StatusFeed {
  public:
    static base::Result<StatusFeed> open(const client::Endpoint& endpoint);

    // Sends a request, unless one is pending. Waits some seconds for a daemon that does not answer.
    void ask();
    // Readable when an answer is there.
    int fd() const;
    // The answer; none if it has not arrived yet.
    std::optional<base::Result<Json>> take();

  private:
    // Shared with the thread, which outlives the feed while it waits for a dead daemon.
    struct Shared;
    explicit StatusFeed(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::shared_ptr<Shared> shared_;
};

}  // namespace pace::pacectl
