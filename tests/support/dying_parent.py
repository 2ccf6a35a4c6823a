"""Starts a program and is gone in the moment in which that asks to be told of its parent's death, before the kernel has heard it.

usage: dying_parent.py PROGRAM [ARGUMENT...]
"""
import ctypes
import os
import platform
import struct
import sys

PTRACE_TRACEME, PTRACE_SYSCALL, PTRACE_SETOPTIONS, PTRACE_GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420e
PTRACE_O_TRACESYSGOOD, SYSCALL_ENTRY = 1, 1
PRCTL, PR_SET_PDEATHSIG = {"x86_64": 157, "aarch64": 167}[platform.machine()], 1

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=0, data=0):
    if libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def main():
    pid = os.fork()
    if pid == 0:
        ptrace(PTRACE_TRACEME, 0)
        os.execv(sys.argv[1], sys.argv[1:])
    os.waitpid(pid, 0)  # stopped by its exec
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD)
    info = ctypes.create_string_buffer(88)  # struct ptrace_syscall_info
    while True:
        ptrace(PTRACE_SYSCALL, pid)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            sys.exit("%s never asked" % sys.argv[1])
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
        operation, number, first = info.raw[0], *struct.unpack_from("=QQ", info.raw, 24)
        if (operation, number, first) == (SYSCALL_ENTRY, PRCTL, PR_SET_PDEATHSIG):
            os._exit(0)  # and the program goes on, traced by nobody


main()
