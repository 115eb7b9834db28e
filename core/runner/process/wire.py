"""Messages between the driver and the nursery over one stream socket: a length, then JSON, with descriptors on the length."""

from __future__ import annotations

import json
import socket
import struct

_LENGTH = struct.Struct(">I")
_MOST_DESCRIPTORS = 8


def send(sock: socket.socket, message: dict, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message; copies of the descriptors arrive with it. Raises OSError if the other side is gone."""
    body = json.dumps(message, separators=(",", ":")).encode()
    head = _LENGTH.pack(len(body))
    if descriptors:
        sent = socket.send_fds(sock, [head], list(descriptors))
        head = head[sent:]
    sock.sendall(head + body)


def receive(sock: socket.socket) -> tuple[dict, tuple[int, ...]] | None:
    """The next message and its descriptors, or None if the other side is gone."""
    head, descriptors = b"", []
    try:
        while len(head) < _LENGTH.size:
            part, arrived, _, _ = socket.recv_fds(sock, _LENGTH.size - len(head), _MOST_DESCRIPTORS)
            descriptors += arrived
            if not part:
                return None
            head += part
        (left,) = _LENGTH.unpack(head)
        body = b""
        while len(body) < left:
            part = sock.recv(left - len(body))
            if not part:
                return None
            body += part
    except OSError:
        return None
    return json.loads(body), tuple(descriptors)
