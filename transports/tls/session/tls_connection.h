// TlsConnection: one TCP connection with TLS over it. It handshakes, reads and writes, and never
// blocks.
//
// OpenSSL reaches the socket by a BIO of ours, for two reasons: bytes are sent with MSG_NOSIGNAL,
// so that no SIGPIPE is raised, and the bytes of a handshake are bounded.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "transports/tls/session/key_ring.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::transports::tls {

struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPointer = std::unique_ptr<SSL, FreeSsl>;

class TlsConnection {
  public:
    // TlsContext makes connections. `keys` must outlive the connection.
    TlsConnection(base::UniqueFd socket, SslPointer ssl, BIO_METHOD& method, const KeyRing& keys);
    ~TlsConnection() = default;
    TlsConnection(const TlsConnection&) = delete;
    TlsConnection& operator=(const TlsConnection&) = delete;

    int fd() const { return socket_.get(); }

    // Call one of these methods first. The client offers `key`, which must be of the ring. The
    // server takes any key of the ring.
    void begin_as_client(const PairKey& key);
    void begin_as_server();

    enum class Outcome {
        moved,   // the step is done
        again,   // the socket must become ready first
        failed,  // the connection is of no more use; error() says why
    };

    // Takes the handshake as far as it goes. Once it is done, both sides have proven that they have
    // the same key.
    Outcome handshake();

    struct Moved {
        Outcome outcome = Outcome::again;
        size_t bytes = 0;
    };
    // Reads some bytes, at most one record.
    Moved read(std::span<std::byte> bytes);

    // Writes one record of at most kRecordBytes. `more`: further bytes follow at once, so the
    // record may wait for them here. After Outcome::again, the next call must have as many bytes.
    // The bytes may lie elsewhere.
    static constexpr size_t kRecordBytes = 16384;
    Moved write(std::span<const std::byte> bytes, bool more);

    // Sends the records that wait here. Call this method when no further bytes follow.
    Outcome flush();
    bool has_unsent() const { return sent_ < held_.size(); }

    // Whether a step is worth trying: the socket has become ready since a step found that it was
    // not.
    bool may_read() const { return readable_ && (writable_ || !reading_writes_); }
    bool may_write() const { return writable_; }
    void became_ready(bool readable, bool writable) {
        readable_ = readable_ || readable;
        writable_ = writable_ || writable;
    }

    // Nothing can be done before the socket becomes ready.
    void became_unready() { readable_ = writable_ = false; }

    // The next record will have fresh keys. Call this method only if no write must be repeated.
    bool renew_key();

    const std::string& error() const { return error_; }

    // Whether anything has come from the other side.
    bool has_heard() const { return bytes_in_ > 0; }

    // The instance whose key authenticated the other side. None before the handshake.
    const std::optional<InstanceId>& instance() const { return instance_; }

    // OpenSSL's callbacks.
    int use_key(const EVP_MD* digest, const unsigned char** id, size_t* id_size,
                SSL_SESSION** session);
    int find_key(std::span<const std::byte> id_untrusted, SSL_SESSION** session);
    int send_bytes(BIO* bio, const char* bytes, int size);
    int receive_bytes(BIO* bio, char* bytes, int size);
    bool at_end() const { return at_end_; }

  private:
    bool send_held();
    Outcome outcome_of(int status, bool is_read);
    void explain(int ssl_error);

    base::UniqueFd socket_;
    SslPointer ssl_;
    const KeyRing& keys_;
    std::optional<std::array<std::byte, 16>> offered_id_;
    std::optional<InstanceId> instance_;
    bool is_established_ = false;
    bool readable_ = true;
    bool writable_ = true;
    // Reading waits until the socket is writable: TLS has something to say.
    bool reading_writes_ = false;
    bool more_ = false;
    // Records that wait to be sent together. One call for some records costs the kernel less than
    // one call for each.
    std::vector<std::byte> held_;
    size_t sent_ = 0;
    // How often this step has asked the socket for bytes, and whether it was stopped for it.
    int receives_ = 0;
    bool stopped_ = false;
    bool at_end_ = false;
    int socket_errno_ = 0;
    uint64_t bytes_in_ = 0;
    std::string error_;
};

}  // namespace pace::transports::tls
