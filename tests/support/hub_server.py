"""A model hub on the loopback interface: as much of the hub's protocol as its client needs to download a file."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40


class Hub:
    """Files of repositories, served under /[datasets/]REPOSITORY/resolve/REVISION/FILE; requests are listed in `asked`.

    `files` maps (repository, file) to content. Large files (`lfs`) are declared by SHA-256 and reached by a redirect, small
    files by their git object id. `fault` bends the answers: `truncated` or `corrupt` bodies, a `page` in the hub's place, or a status.
    """

    def __init__(self, files: dict[tuple[str, str], bytes], lfs: set[str], commit: str = COMMIT):
        self.files, self.lfs, self.commit, self.fault, self.asked = files, lfs, commit, None, []
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
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()


def handler(hub: Hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def answer(self, with_body: bool):
            hub.asked.append((self.command, self.path))
            if str(hub.fault).isdigit():
                return self.reply(int(hub.fault))
            if hub.fault == "page":
                return self.content(b"<html>Please log in.</html>", with_body, {})
            if self.path.startswith("/cdn/"):
                owner, repository, name = self.path.removeprefix("/cdn/").split("/", 2)
                return self.content(hub.files[f"{owner}/{repository}", name], with_body, {})
            place, _, tail = self.path.removeprefix("/datasets").lstrip("/").partition("/resolve/")
            revision, _, name = tail.partition("/")
            if (place, name) not in hub.files or revision not in ("main", hub.commit):
                return self.reply(404, {"X-Error-Code": "EntryNotFound"})
            content, headers = hub.files[place, name], {"X-Repo-Commit": hub.commit}
            if name not in hub.lfs:
                git_id = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
                return self.content(content, with_body, {**headers, "ETag": f'"{git_id}"'})
            linked = {"X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Linked-Size": str(len(content))}
            return self.reply(302, {**headers, **linked, "Location": f"{hub.cdn}/cdn/{place}/{name}"})

        def content(self, content: bytes, with_body: bool, headers: dict[str, str]):
            start = int(self.headers["Range"].removeprefix("bytes=").split("-")[0]) if "Range" in self.headers else 0
            sent = content[start:]
            if with_body and hub.fault == "truncated":
                sent = sent[:-10]
            if with_body and hub.fault == "corrupt":
                sent = sent[:-1] + bytes([sent[-1] ^ 1])
            if start:
                headers |= {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            self.reply(206 if start else 200, {**headers, "Content-Length": str(len(sent))}, sent if with_body else b"")

        def reply(self, status: int, headers: dict[str, str] | None = None, body: bytes = b""):
            self.send_response(status)
            for name, value in ({"Content-Length": "0"} | (headers or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler
