"""The serial port as a file descriptor, so that a guardian process can inherit it."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time

from openral.errors import ConfigError, DeviceBusy, DeviceUnplugged, TransportError

_WRITE_PATIENCE = 0.1


class Port:
    """Bytes to and from an open serial line; DeviceUnplugged as soon as the device is lost."""

    def __init__(self, fd: int, name: str, *, owner: object = None) -> None:
        self.fd = fd
        self.name = name
        self._owner = owner  # keeps pyserial's object, and so its lock, alive

    def read(self, timeout: float) -> bytes:
        """The received bytes, after waiting up to `timeout` s for the first; empty if none."""
        try:
            if not select.select([self.fd], [], [], max(0.0, timeout))[0]:
                return b""
            data = os.read(self.fd, 4096)
        except (OSError, ValueError) as error:
            raise self._lost(error) from None
        if not data:
            raise self._lost("end of file")
        return data

    def write(self, data: bytes) -> None:
        """Writes all bytes."""
        deadline = time.monotonic() + _WRITE_PATIENCE
        while data:
            try:
                data = data[os.write(self.fd, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TransportError(f"{self.name}: the port takes no data") from None
                select.select([], [self.fd], [], _WRITE_PATIENCE)
            except OSError as error:
                raise self._lost(error) from None

    def close(self) -> None:
        """Closes this side; harmless the second time."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            close = getattr(self._owner, "close", None)
            with contextlib.suppress(OSError):  # a device that is gone cannot be closed either
                close() if close else os.close(fd)

    def _lost(self, why: object) -> DeviceUnplugged:
        return DeviceUnplugged(f"{self.name}: the serial device is gone ({why}); is it unplugged?")


def open_port(path: str, baud_rate: int = 1_000_000) -> Port:
    """Opens a serial device exclusively for this process."""
    try:
        import serial
    except ImportError:
        raise ConfigError(
            "serial servos need pyserial; install it with: pip install 'openral[feetech]'"
        ) from None
    try:
        line = serial.Serial(path, baud_rate, timeout=0, write_timeout=0, exclusive=True)
    except ValueError as error:
        raise ConfigError(f"baud rate {baud_rate} of {path}: {error}") from None
    except OSError as error:
        raise _cannot_open(path, error) from None
    return Port(line.fileno(), path, owner=line)


def _cannot_open(path: str, error: OSError) -> TransportError:
    if error.errno in {errno.EAGAIN, errno.EBUSY}:
        return DeviceBusy(f"port {path} is in use by another process; close that one first")
    if error.errno == errno.EACCES:
        return TransportError(f"no permission for port {path}; join the group that owns the device")
    names = serial_ports()
    return TransportError(
        f"cannot open port {path} ({error.strerror or error}); ports here: "
        f"{', '.join(names) or 'none'}"
    )


def serial_ports() -> list[str]:
    """Serial devices on this machine that have hardware behind them."""
    from serial.tools.list_ports import comports

    return sorted(port.device for port in comports())
