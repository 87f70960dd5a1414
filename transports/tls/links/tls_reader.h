// TlsReader: takes the frames of one connection apart. Large messages are read straight into the
// memory of their receives.
#pragma once

#include "transports/tls/links/tls_inbox.h"
#include "transports/tls/links/tls_link.h"
#include "transports/tls/links/tls_links.h"

namespace pace::transports::tls {

class TlsReader {
  public:
    TlsReader(TlsLinks& links, TlsInbox& inbox, size_t segment_bytes);

    // Reads about `bytes_max` bytes of the way in, which must be there. Returns true if bytes
    // moved.
    bool read(TlsLink& link, size_t bytes_max);

  private:
    TlsConnection::Moved read_header(TlsLink& link);
    TlsConnection::Moved read_payload(TlsLink& link);
    TlsConnection::Moved read_data(TlsLink& link, size_t rest);
    void take_frame(TlsLink& link);

    TlsLinks& links_;
    TlsInbox& inbox_;
    size_t segment_bytes_;
    // Where data goes that nobody wants any more.
    std::vector<std::byte> unwanted_;
};

}  // namespace pace::transports::tls
