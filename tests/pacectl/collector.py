"""A collector of OpenTelemetry: a real HTTP server on a port of its own choice, which keeps all posted requests."""

import contextlib
import http.server
import json
import ssl
import threading


class Collector(contextlib.ExitStack):
    """`with Collector() as collector:`. `answer` is (status, body, headers) of each request."""

    def __init__(self, certificate=None, answer=(200, b"{}", {})):
        super().__init__()
        self.certificate = certificate
        self.answer = answer
        self.requests = []  # (path, headers, body)

    def __enter__(self):
        super().__enter__()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                status, answered, headers = collector.answer
                self.send_response(status)
                for name, value in {**headers, "Content-Length": len(answered)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(answered)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.callback(server.server_close)
        scheme = "http"
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda *_: None  # a client that does not trust the certificate hangs up
            scheme = "https"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.callback(thread.join)
        self.callback(server.shutdown)
        self.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        return self

    def spans(self):
        """Every received span, with the attributes of its resource as `resource`."""
        found = []
        for _, _, body in self.requests:
            for resource in json.loads(body)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    assert scope["scope"]["name"] == "pace", scope["scope"]
                    found += [{**span, "resource": attributes(resource["resource"])} for span in scope["spans"]]
        return found


def attributes(of):
    """{key: value} of the attributes of a span or resource."""
    return {attribute["key"]: plain(attribute["value"]) for attribute in of["attributes"]}


def plain(value):
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return [plain(one) for one in content["values"]]
    return int(content) if kind == "intValue" else content
