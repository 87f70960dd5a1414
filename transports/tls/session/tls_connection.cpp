#include "transports/tls/session/tls_connection.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace pace::transports::tls {

namespace {

// A handshake by PSK needs less than a thousand bytes in each direction.
constexpr uint64_t kHandshakeBytesMax = 16384;

// One step takes bytes from the socket this often. Records without data, such as changes of keys,
// would otherwise hold the loop for as long as they come.
constexpr int kReceivesOfStepMax = 2;

// Records are sent when there are so many bytes of them.
constexpr size_t kHeldBytesMax = size_t{64} * 1024;

// The only hash of the PSKs, and so of the cipher suites.
constexpr std::array<unsigned char, 2> kCipher = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

// The session that OpenSSL takes for an external PSK. Null if there is no memory.
SSL_SESSION* session_of(SSL* ssl, const PairKey& key) {
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipher.data());
    SSL_SESSION* session = SSL_SESSION_new();
    if (session == nullptr || cipher == nullptr) return session;
    const auto* secret = reinterpret_cast<const unsigned char*>(key.secret.data());
    if (SSL_SESSION_set1_master_key(session, secret, key.secret.size()) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return nullptr;
}

}  // namespace

TlsConnection::TlsConnection(base::UniqueFd socket, SslPointer ssl, BIO_METHOD& method,
                             const KeyRing& keys)
    : socket_(std::move(socket)), ssl_(std::move(ssl)), keys_(keys) {
    SSL_set_app_data(ssl_.get(), this);
    BIO* bio = BIO_new(&method);
    if (bio == nullptr) return;  // the handshake fails
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
}

void TlsConnection::begin_as_client(const PairKey& key) {
    offered_id_ = key.id;
    SSL_set_connect_state(ssl_.get());
}

void TlsConnection::begin_as_server() {
    SSL_set_accept_state(ssl_.get());
    // The server asks for no certificate.
    SSL_set_verify(ssl_.get(), SSL_VERIFY_NONE, nullptr);
}

TlsConnection::Outcome TlsConnection::handshake() {
    ERR_clear_error();
    receives_ = 0;
    const int status = SSL_do_handshake(ssl_.get());
    if (status != 1) return outcome_of(status, true);
    // Without a PSK there would be a certificate. No certificate is trusted.
    if (SSL_session_reused(ssl_.get()) != 1 || SSL_version(ssl_.get()) != TLS1_3_VERSION) {
        error_ = "it did not prove that it has the key";
        return Outcome::failed;
    }
    is_established_ = true;
    return Outcome::moved;
}

TlsConnection::Moved TlsConnection::read(std::span<std::byte> bytes) {
    ERR_clear_error();
    receives_ = 0;
    size_t count = 0;
    const int status = SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    if (status == 1) return {Outcome::moved, count};
    return {outcome_of(status, true), 0};
}

TlsConnection::Moved TlsConnection::write(std::span<const std::byte> bytes, bool more) {
    ERR_clear_error();
    size_t count = 0;
    more_ = more;
    const int status = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    more_ = false;
    if (status == 1) return {Outcome::moved, count};
    return {outcome_of(status, false), 0};
}

TlsConnection::Outcome TlsConnection::flush() {
    if (!send_held()) {
        if (socket_errno_ == 0) return Outcome::again;
        explain(SSL_ERROR_SYSCALL);
        return Outcome::failed;
    }
    if (!held_.empty()) held_ = {};
    sent_ = 0;
    return Outcome::moved;
}

bool TlsConnection::renew_key() {
    ERR_clear_error();
    const bool renewed = SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
    ERR_clear_error();
    return renewed;
}

TlsConnection::Outcome TlsConnection::outcome_of(int status, bool is_read) {
    const int ssl_error = SSL_get_error(ssl_.get(), status);
    if (ssl_error == SSL_ERROR_WANT_READ) {
        readable_ = std::exchange(stopped_, false);
        if (is_read) reading_writes_ = false;
        return Outcome::again;
    }
    if (ssl_error == SSL_ERROR_WANT_WRITE) {
        writable_ = false;
        if (is_read) reading_writes_ = true;
        return Outcome::again;
    }
    explain(ssl_error);
    ERR_clear_error();
    return Outcome::failed;
}

void TlsConnection::explain(int ssl_error) {
    if (!error_.empty()) return;
    const unsigned long code = ERR_peek_last_error();
    if (socket_errno_ != 0) {
        error_ = std::strerror(socket_errno_);
    } else if (at_end_ || ssl_error == SSL_ERROR_ZERO_RETURN) {
        error_ = bytes_in_ == 0 ? "it closed the connection before it said anything"
                                : "it closed the connection";
    } else if (code != 0 && ERR_reason_error_string(code) != nullptr) {
        error_ = fmt::format("TLS: {}", ERR_reason_error_string(code));
    } else {
        error_ = "TLS failed";
    }
}

int TlsConnection::use_key(const EVP_MD* digest, const unsigned char** id, size_t* id_size,
                           SSL_SESSION** session) {
    *session = nullptr;
    // Without a session OpenSSL offers no key, and the other side refuses.
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
    const auto found = offered_id_ ? keys_.find(*offered_id_) : std::nullopt;
    if (!found) return 1;
    *session = session_of(ssl_.get(), *found->key);
    if (*session == nullptr) return 0;
    // OpenSSL copies the id.
    *id = reinterpret_cast<const unsigned char*>(found->key->id.data());
    *id_size = found->key->id.size();
    return 1;
}

int TlsConnection::find_key(std::span<const std::byte> id_untrusted, SSL_SESSION** session) {
    *session = nullptr;
    const auto found = keys_.find(id_untrusted);
    // Without a session OpenSSL goes on, and finds no certificate to go on with.
    if (!found) {
        error_ = "it names no key that this node has";
        return 1;
    }
    error_.clear();
    *session = session_of(ssl_.get(), *found->key);
    if (*session == nullptr) return 0;
    instance_ = found->instance;
    return 1;
}

// OpenSSL gives a record, or the rest of one.
int TlsConnection::send_bytes(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const auto record = std::as_bytes(std::span(bytes, static_cast<size_t>(size)));
    if (held_.size() >= kHeldBytesMax && !send_held()) {
        if (socket_errno_ == 0) BIO_set_retry_write(bio);
        return -1;
    }
    if (more_) held_.reserve(kHeldBytesMax + 2 * kRecordBytes);
    held_.insert(held_.end(), record.begin(), record.end());
    // What the socket does not take now is sent before the next record.
    if (!more_) send_held();
    return socket_errno_ == 0 ? size : -1;
}

// Returns false if something is left, because the socket takes no more or is broken.
bool TlsConnection::send_held() {
    while (has_unsent()) {
        const ssize_t count =
            ::send(fd(), held_.data() + sent_, held_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            sent_ += static_cast<size_t>(count);
            continue;
        }
        if (errno == EAGAIN || errno == EINTR) {
            writable_ = false;
        } else {
            socket_errno_ = errno;
        }
        return false;
    }
    held_.clear();
    sent_ = 0;
    return true;
}

int TlsConnection::receive_bytes(BIO* bio, char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    if (!is_established_ && bytes_in_ >= kHandshakeBytesMax) {
        error_ = "it said too much without proving who it is";
        return -1;
    }
    if (receives_++ == kReceivesOfStepMax) {
        stopped_ = true;
        BIO_set_retry_read(bio);
        return -1;
    }
    const ssize_t count = ::recv(fd(), bytes, static_cast<size_t>(size), MSG_DONTWAIT);
    if (count > 0) {
        bytes_in_ += static_cast<uint64_t>(count);
        return static_cast<int>(count);
    }
    if (count == 0) {
        at_end_ = true;
        return 0;
    }
    if (errno == EAGAIN || errno == EINTR) {
        BIO_set_retry_read(bio);
    } else {
        socket_errno_ = errno;
    }
    return -1;
}

}  // namespace pace::transports::tls
