"""A model hub on the loopback interface: as much of the hub's protocol as its client needs to download a file."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40


class Hub:
    """Files of repositories, served under /[datasets/]REPOSITORY/resolve/REVISION/FILE; what it was asked is in `asked`.

    `files` maps (repository, file) to content. Large files (`lfs`) are declared by SHA-256 and reached by a redirect, small
    ones by their git object id. `fault` bends the answers: `429`, `503`, `truncated`, `corrupt`, `no commit`, `page` (a login page
    in the hub's place), `slow` (nothing for as long as `patience`), `stalled` and `reset` (half a body, then nothing or the end), `endless` (more than was
    declared), `drip` (a byte at a time), `circle` (a redirect to itself), `packed` (in an encoding), `huge` (a size that no file has),
    `wait` and `fails late` (429 for an hour, or 500, in the content's place).
    """

    def __init__(self, files: dict[tuple[str, str], bytes], lfs: set[str], commit: str = COMMIT):
        self.files, self.lfs, self.commit, self.fault, self.asked = files, lfs, commit, None, []
        self.patience = threading.Event()  # set when the server stops
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.cdn = f"http://localhost:{self.server.server_port}"  # another host by name, as on the real hub

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> None:
        """Close the port; asking again is asking an unreachable hub."""
        self.patience.set()
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()


def git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def handler(hub: Hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def answer(self, with_body: bool):
            hub.asked.append((self.command, self.path))
            if hub.fault in ("429", "503"):
                return self.empty(int(hub.fault))
            if hub.fault == "page":
                return self.content(b"<html>Please log in.</html>", with_body)
            if hub.fault == "slow":
                hub.patience.wait(5.0)
            if self.path.startswith("/cdn/"):
                owner, repository, name = self.path.removeprefix("/cdn/").split("/", 2)
                if hub.fault == "circle":
                    return self.empty(302, {"Location": f"{hub.cdn}{self.path}"})
                if hub.fault in ("wait", "fails late"):
                    return self.empty(429 if hub.fault == "wait" else 500, {"Retry-After": "3600"})
                return self.content(hub.files[f"{owner}/{repository}", name], with_body)
            place, _, tail = self.path.removeprefix("/datasets").lstrip("/").partition("/resolve/")
            revision, _, name = tail.partition("/")
            if (place, name) not in hub.files or revision not in ("main", hub.commit, *getattr(hub, "aliases", ())):
                return self.empty(404, {"X-Error-Code": "EntryNotFound"})
            content = hub.files[place, name]
            headers = {} if hub.fault == "no commit" else {"X-Repo-Commit": hub.commit}
            if name not in hub.lfs:
                return self.content(content, with_body, {**headers, "ETag": f'"{git_id(content)}"'})
            headers |= {
                "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Linked-Size": str(len(content)) if hub.fault != "huge" else "9000000000000",
            }
            return self.empty(302, {**headers, "Location": f"{hub.cdn}/cdn/{place}/{name}"})

        def content(self, content: bytes, with_body: bool, headers: dict[str, str] | None = None):
            start = 0
            if "Range" in self.headers:
                start = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
            sent = content[start:]
            if with_body and hub.fault == "truncated":
                sent = sent[:-10]
            if with_body and hub.fault == "corrupt":
                sent = sent[:-1] + bytes([sent[-1] ^ 1])
            self.send_response(206 if start else 200)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if with_body and hub.fault in ("endless", "drip"):
                return self.without_end(sent)
            if with_body and hub.fault == "packed":
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            if with_body and hub.fault in ("stalled", "reset"):
                self.wfile.write(sent[: len(sent) // 2])
                self.wfile.flush()
                if hub.fault == "stalled":
                    hub.patience.wait(5.0)
                self.close_connection = True
            elif with_body:
                self.wfile.write(sent)

        def without_end(self, sent: bytes):
            """A body that nobody says the length of."""
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                if hub.fault == "endless":
                    while not hub.patience.is_set():
                        self.wfile.write(sent)
                for byte in sent:
                    self.wfile.write(bytes([byte]))
                    if hub.patience.wait(0.05):
                        return
            except OSError:
                pass  # it has hung up

        def empty(self, status: int, headers: dict[str, str] | None = None):
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler
