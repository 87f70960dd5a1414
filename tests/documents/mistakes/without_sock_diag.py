"""Runs a program as on a kernel without the means to ask for the owner of a socket: without_sock_diag.py COMMAND..."""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPROTONOSUPPORT
NUMBER_AT, FAMILY_AT, PROTOCOL_AT = 0, 16, 32  # in what the kernel shows of a system call
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}
AF_NETLINK, NETLINK_SOCK_DIAG = 16, 4


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def main():
    instructions = [instruction(LOAD, NUMBER_AT), instruction(IF_EQUAL, SOCKET_CALL[platform.machine()], 0, 5),
                    instruction(LOAD, FAMILY_AT), instruction(IF_EQUAL, AF_NETLINK, 0, 3),
                    instruction(LOAD, PROTOCOL_AT), instruction(IF_EQUAL, NETLINK_SOCK_DIAG, 0, 1),
                    instruction(RETURN, REFUSE), instruction(RETURN, ALLOW)]
    program = Filter(len(instructions), b"".join(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
