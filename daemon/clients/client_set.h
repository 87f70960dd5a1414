// ClientSet: all clients of the daemon, polled together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/clients/client.h"

namespace pace::daemon {

class ClientSet final : public base::Poller {
  public:
    ClientSet(ClientContext& context, uint32_t clients_max, Counters& counters);
    ~ClientSet() override;
    ClientSet(const ClientSet&) = delete;
    ClientSet& operator=(const ClientSet&) = delete;

    // Makes a client of a connected SOCK_SEQPACKET socket. Above `clients_max`, refuses the
    // connection and tells the client why.
    void add(base::UniqueFd socket);

    std::vector<Client::Summary> summaries() const;
    // Ends all connections.
    void close_all();

    bool poll() override;
    bool arm() override;
    void disarm() override;

  private:
    ClientContext& context_;
    uint32_t clients_max_;
    Counters& counters_;
    uint64_t next_ = 1;
    // The client with which the next poll begins, or the first one after it.
    uint64_t next_turn_ = 0;
    std::map<uint64_t, std::unique_ptr<Client>> clients_;
    base::Scope scope_;
};

}  // namespace pace::daemon
