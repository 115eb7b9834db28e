"""What nvidia-cuda-mps-control does, without a GPU: a daemon with a socket in
CUDA_MPS_PIPE_DIRECTORY, which answers commands and notes its beginning and its end.

`$FAKE_MPS/fails` has a daemon fail with these words, and `$FAKE_MPS/notes` gets the notes.
"""

import os
import socket
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_MPS"])
PIPES = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))


def note(*words: object) -> None:
    with open(FOLDER / "notes", "a") as file:
        print(*words, file=file)


def serve(listening: socket.socket) -> None:
    """Answer until `quit`."""
    while True:
        connection, _ = listening.accept()
        with connection:
            command = connection.recv(100).decode().strip()
            if command == "quit":
                note("quit", os.getpid())
                (PIPES / "control").unlink()
            connection.sendall(b"100.0\n")
        if command == "quit":
            return


def start() -> None:
    """Make the socket, and go on in the background."""
    fails = FOLDER / "fails"
    if fails.exists():
        sys.exit(fails.read_text())
    PIPES.mkdir(parents=True, exist_ok=True)
    Path(os.environ["CUDA_MPS_LOG_DIRECTORY"]).mkdir(parents=True, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(PIPES / "control"))
    except OSError:
        sys.exit("An instance of this daemon is already running")
    listening.listen()
    if os.fork():
        os._exit(0)
    os.setsid()
    note("start", os.getpid(), PIPES, os.environ.get("CUDA_VISIBLE_DEVICES"))
    serve(listening)


def ask(command: str) -> None:
    """Have the daemon take a command."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(PIPES / "control"))
        except OSError:
            sys.exit("Cannot find MPS control daemon process")
        connection.sendall(command.encode())
        print(connection.recv(100).decode(), end="")


if __name__ == "__main__":
    if sys.argv[1:] == ["-d"]:
        start()
    else:
        ask(sys.stdin.readline())
