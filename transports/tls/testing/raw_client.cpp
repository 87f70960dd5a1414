#include "transports/tls/testing/raw_client.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include <openssl/err.h>

#include "transports/tls/wire/sockets.h"

namespace pace::transports::tls::testing {

namespace {

int use_key(SSL* ssl, const EVP_MD* /*digest*/, const unsigned char** id, size_t* id_size,
            SSL_SESSION** session) {
    *session = nullptr;
    const PairKey* key = static_cast<RawTls*>(SSL_get_app_data(ssl))->key();
    if (key == nullptr) return 1;
    constexpr std::array<unsigned char, 2> kCipher = {0x13, 0x01};
    *session = SSL_SESSION_new();
    SSL_SESSION_set1_master_key(
        *session, reinterpret_cast<const unsigned char*>(key->secret.data()), key->secret.size());
    SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, kCipher.data()));
    SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
    *id = reinterpret_cast<const unsigned char*>(key->id.data());
    *id_size = key->id.size();
    return 1;
}

}  // namespace

RawSocket::RawSocket(const Address& address) {
    const auto parsed = parse_address(address);
    EXPECT_TRUE(parsed);
    auto fd = begin_connect(parsed->endpoints.front());
    EXPECT_TRUE(fd) << (fd ? "" : fd.error().message);
    if (!fd) return;
    fd_ = std::move(*fd);
    prepare(fd_.get(), {std::chrono::seconds(1), std::chrono::seconds(100)});
}

bool RawSocket::send(std::span<const std::byte> bytes) const {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

Bytes RawSocket::receive() {
    Bytes bytes(65'536);
    const ssize_t count = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    closed_ = closed_ || count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
    bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return bytes;
}

bool RawSocket::is_closed() {
    while (!receive().empty()) {
    }
    return closed_;
}

RawTls::RawTls(const RawTlsOptions& options)
    : key_(options.key),
      context_(SSL_CTX_new(TLS_client_method())),
      ssl_((SSL_CTX_set_psk_use_session_callback(context_.get(), use_key),
            SSL_CTX_set_max_proto_version(context_.get(), options.version_max),
            SSL_new(context_.get()))) {
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
}

bool RawTls::has_fresh_secrets() const {
    EVP_PKEY* key = nullptr;
    const bool has = SSL_get_peer_tmp_key(ssl_.get(), &key) == 1;
    EVP_PKEY_free(key);
    return has;
}

void RawTls::write(std::span<const std::byte> bytes) {
    EXPECT_EQ(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
}

bool RawTls::read_to_end() {
    ERR_clear_error();
    std::array<std::byte, 1> byte{};
    const int status = SSL_read(ssl_.get(), byte.data(), 1);
    const int error = SSL_get_error(ssl_.get(), status);
    ERR_clear_error();
    return status <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
}

Bytes RawTls::take_outgoing() {
    Bytes bytes(BIO_pending(SSL_get_wbio(ssl_.get())));
    if (!bytes.empty())
        BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
}

void RawTls::add_incoming(std::span<const std::byte> bytes) {
    if (!bytes.empty())
        BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
}

bool RawClient::step() {
    carry();
    if (!done_) {
        ERR_clear_error();
        done_ = tls_.handshake();
        ERR_clear_error();
        carry();
    }
    return done_;
}

void RawClient::write(const Frame& frame, std::span<const std::byte> payload) {
    const FrameBytes header = encode_frame(frame);
    Bytes bytes(header.begin(), header.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    write(bytes);
}

bool RawClient::is_closed() {
    step();
    return socket_.is_closed();
}

void RawClient::carry() {
    const Bytes outgoing = tls_.take_outgoing();
    if (!outgoing.empty() && socket_.send(outgoing))
        sent_.insert(sent_.end(), outgoing.begin(), outgoing.end());
    tls_.add_incoming(socket_.receive());
}

}  // namespace pace::transports::tls::testing
