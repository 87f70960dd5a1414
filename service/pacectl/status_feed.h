// StatusFeed: the status document, asked for beside: whoever shows it goes on meanwhile.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "libclient/endpoint.h"
#include "service/pacectl/document.h"

namespace pace::pacectl {

class StatusFeed {
  public:
    static base::Result<StatusFeed> open(const client::Endpoint& endpoint);

    // Asks, unless an answer is awaited already. A daemon that does not answer is waited for some seconds.
    void ask();
    // Readable when there is an answer.
    int fd() const;
    // The answer; none before it has come.
    std::optional<base::Result<Json>> take();

  private:
    // A thread that waits for a dead daemon outlives the feed: it shares this.
    struct Shared;
    explicit StatusFeed(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::shared_ptr<Shared> shared_;
};

}  // namespace pace::pacectl
