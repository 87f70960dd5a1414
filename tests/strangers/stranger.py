"""A stranger: it reaches a port, has no key, and does its worst for some seconds.

stranger.py ATTACK ADDRESS PORT SECONDS. It prints what it did, for the test's log.
"""

import contextlib
import os
import resource
import selectors
import socket
import ssl
import struct
import sys
import time

CONNECT_S = 5
HALF_OPEN = 1000
SLOW = 200
# What UCX's TCP says first: its magic number, the kind of message, its length, and a request to connect.
UCX_WORDS = struct.pack("<QBI", 0xCAFEBABE12345678, 1, 40) + bytes(40)
# The greeting of ZMTP 3.1, by mechanism, and what follows it.
ZMTP_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01"


def zmtp(mechanism, more):
    return ZMTP_GREETING + mechanism.ljust(20, b"\0") + bytes(32) + more


OPENINGS = (
    UCX_WORDS,
    b"GET / HTTP/1.1\r\nHost: node\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    zmtp(b"NULL", b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x06DEALER" + b"\0\x40" + bytes(64)),
    zmtp(b"PLAIN", b"\x04\x0a\x05HELLO\0\0"),
    zmtp(b"CURVE", b"\x04\xc8\x05HELLO\x01\0" + bytes(192)),
    b"\x16\x03\x01\xff\xff" + b"\xff" * 70000,  # a record of TLS that is too long
    b"\x17\x03\x03\x00\x20" + bytes(32),  # a record that only a connection has
    bytes(1 << 20),
)


def connect(address, seconds=CONNECT_S):
    return socket.create_connection(address, timeout=seconds)


def say(address, words):
    """Says something, and reads what comes until the other closes, or nothing comes for half a second."""
    with contextlib.suppress(OSError), connect(address) as to:
        to.settimeout(0.5)
        to.sendall(words)
        while to.recv(65536):
            pass


def garbage(address, end):
    count = 0
    while time.monotonic() < end:
        for words in (*OPENINGS, os.urandom(21), os.urandom(4096)):
            say(address, words)
            count += 1
    return f"{count} openings of {len(OPENINGS) + 2} kinds"


def tls_without_a_key(address, end):
    refused = 0
    while time.monotonic() < end:
        for newest in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = newest
            try:
                with connect(address) as to, context.wrap_socket(to) as secured:
                    secured.sendall(b"anything")
                    secured.settimeout(1)
                    if secured.recv(1):
                        return "it was let in"
            except OSError:  # ssl.SSLError is one
                refused += 1
    return f"{refused} handshakes were refused"


def half_open(address, end):
    """Thousands of connections that say nothing; what is closed is opened again."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(HALF_OPEN, most - 64)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 64, most))
    selector = selectors.DefaultSelector()
    opened = 0

    def open_one():
        nonlocal opened
        to = socket.socket()
        to.setblocking(False)
        to.connect_ex(address)
        selector.register(to, selectors.EVENT_READ)
        opened += 1

    for _ in range(count):
        open_one()
    while time.monotonic() < end:
        for key, _ in selector.select(0.05):
            with contextlib.suppress(OSError):
                if key.fileobj.recv(4096):
                    continue
            selector.unregister(key.fileobj)
            key.fileobj.close()
            open_one()
    return f"{count} connections at once, {opened} in all"


def slow(address, end):
    """Connections that say a good beginning, a byte at a time."""
    words = (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(509), ZMTP_GREETING + bytes(52), b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 80)
    talks = []
    said = 0
    while time.monotonic() < end:
        while len(talks) < SLOW:
            with contextlib.suppress(OSError):
                talks.append((connect(address), iter(words[len(talks) % len(words)])))
        left = []
        for to, rest in talks:
            byte = next(rest, None)
            try:
                if byte is not None:
                    to.sendall(bytes([byte]))
                    said += 1
                    left.append((to, rest))
                    continue
            except OSError:
                pass
            to.close()
        talks = left
        selectors.DefaultSelector().select(0.05)
    return f"{said} bytes, one at a time, on {SLOW} connections"


def flood(address, end):
    """Connections as fast as they come, each with a few bytes."""
    count = 0
    while time.monotonic() < end:
        with contextlib.suppress(OSError), connect(address) as to:
            to.send(UCX_WORDS)
            count += 1
    return f"{count} connections"


def stream(address, end):
    """As many bytes as are taken."""
    block = bytes(1 << 18)
    sent = 0
    while time.monotonic() < end:
        with contextlib.suppress(OSError), connect(address) as to:
            to.settimeout(0.5)
            while time.monotonic() < end:
                sent += to.send(block)
    return f"{sent >> 20} MiB"


ATTACKS = {attack.__name__.replace("_", "-"): attack for attack in (garbage, tls_without_a_key, half_open, slow, flood, stream)}


def main():
    attack, host, port, seconds = sys.argv[1:]
    print(ATTACKS[attack]((host, int(port)), time.monotonic() + float(seconds)), flush=True)


if __name__ == "__main__":
    main()
