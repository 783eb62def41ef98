"""A seccomp filter that refuses the system calls that a policy does not need.

Calls that affect other processes, the kernel or the clock fail with EPERM. Sockets by which it
could take part in the graph (datagrams) fail with EACCES: a policy answers requests and no more.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

# name: (x86_64, aarch64); None: that machine has no such call
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setsid": (112, 157),  # a session of its own would get its own share of CPU time
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_OF_SELF_ONLY = {  # name: (call numbers, index of the argument that names a process; 0: caller)
    "prlimit64": ((302, 261), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setattr": ((314, 274), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setscheduler": ((144, 119), 0),
    "setpriority": ((141, 140), 1),
}
_SIGNALS = {  # likewise; these also accept the caller's own pid
    "kill": ((62, 129), 0),
    "tgkill": ((234, 131), 0),
    "rt_sigqueueinfo": ((129, 138), 0),
    "rt_tgsigqueueinfo": ((297, 240), 0),
}
_TKILL, _PIDFD_SEND_SIGNAL = (200, 130), (424, 424)
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _KIND = 1, 0xF
_NAMESPACES = 0x7E020000
_X32 = 0x40000000
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT = 0x20, 0x15, 0x35, 0x45
_AND, _RETURN = 0x54, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_PR_SET_SECCOMP, _FILTER = 22, 2


def refusal() -> str:
    """Why no filter can be installed on this machine; empty: one can."""
    known = ", ".join(_ARCHITECTURES)
    machine = platform.machine()
    return "" if machine in _ARCHITECTURES else f"no filter for {machine}; known: {known}"


def install(scoped_signals: bool) -> None:
    """Filters this thread, its future threads and children; needs no_new_privs.

    `scoped_signals`: another mechanism restricts signals; otherwise only itself may be signalled.
    """
    column, architecture = _ARCHITECTURES[platform.machine()]
    program = _program(column, architecture, None if scoped_signals else os.getpid())
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    room = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(room))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "the seccomp filter was not taken")


_Line = tuple[int, int, int, int]


def _program(column: int, architecture: int, own_pid: int | None) -> list[_Line]:
    """The BPF program; between two rules the accumulator contains the call's number."""
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, architecture),
        _refuse(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        lines += [(_AT_LEAST, 0, 1, _X32), _refuse(errno.EPERM)]
    refused = [number[column] for number in _REFUSED.values()]
    if own_pid is not None:
        refused += [_TKILL[column], _PIDFD_SEND_SIGNAL[column]]
    for number in refused:
        if number is not None:
            lines += [(_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    for numbers, argument in _OF_SELF_ONLY.values():
        lines += _unless(numbers[column], argument, [0])
    if own_pid is not None:
        for numbers, argument in _SIGNALS.values():
            lines += _unless(numbers[column], argument, [0, own_pid])
    lines += _rule(
        _CLONE[column],
        [(_LOAD, 0, 0, _argument(0)), (_ANY_BIT, 0, 1, _NAMESPACES), _refuse(errno.EPERM)],
    )
    lines += [(_EQUAL, 0, 1, _CLONE3[column]), _refuse(errno.ENOSYS)]  # its flags are hidden
    lines += _rule(_SOCKET[column], _sockets())
    return [*lines, (_RETURN, 0, 0, _ALLOW)]


def _sockets() -> list[_Line]:
    """Allows local sockets, network streams, and netlink for queries about interfaces."""
    return [
        (_LOAD, 0, 0, _argument(0)),
        (_EQUAL, 7, 0, _UNIX),
        (_EQUAL, 6, 0, _NETLINK),
        (_EQUAL, 1, 0, _INET),
        (_EQUAL, 0, 3, _INET6),
        (_LOAD, 0, 0, _argument(1)),
        (_AND, 0, 0, _KIND),
        (_EQUAL, 1, 0, _STREAM),
        _refuse(errno.EACCES),
    ]


def _unless(number: int, argument: int, fine: Iterable[int]) -> list[_Line]:
    """Refuses a call unless its argument is one of `fine`."""
    wanted = list(fine)
    body: list[_Line] = [(_LOAD, 0, 0, _argument(argument))]
    for index, value in enumerate(wanted):
        body.append((_EQUAL, len(wanted) - index, 0, value))
    return _rule(number, [*body, _refuse(errno.EPERM)])


def _rule(number: int, body: list[_Line]) -> list[_Line]:
    """Instructions for one call; they restore the call's number in the accumulator."""
    return [(_EQUAL, 0, len(body) + 1, number), *body, (_LOAD, 0, 0, _NUMBER)]


def _refuse(code: int) -> _Line:
    return (_RETURN, 0, 0, _ERRNO | code)


def _argument(index: int) -> int:
    """Offset of an argument's lower half: all arguments that are checked are ints."""
    return _ARGUMENTS + 8 * index
