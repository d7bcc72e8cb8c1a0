"""A tool service of type external in Python's standard library: v1 envelopes in, v1 envelopes out."""
import contextlib, json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

counts, lock = {}, threading.Lock()


class Failure(Exception):
    def __init__(self, code, message, retryable=False):
        super().__init__(message)
        self.code, self.retryable = code, retryable


def sleep(request, given):  # no longer than the runtime waits
    time.sleep(min(given["ms"], request["runtime"]["timeout_ms"]) / 1000)
    return {"slept_ms": given["ms"]}


def fail(request, given):
    raise Failure(given["code"], given.get("message", "asked to fail"), given.get("retryable", False))


def count(request, given):  # one effect for each key, however often the request is delivered
    with lock:
        return {"count": counts.setdefault(request["idempotency_key"], 1)}


OPERATIONS = {"echo": lambda request, given: given, "sleep": sleep, "fail": fail, "count": count}


def answer(request):
    reply = {"tool_contract_version": "v1", "request_id": request["request_id"]}
    try:
        operation = OPERATIONS.get(request["tool"]["operation"])
        if operation is None:
            raise Failure("unsupported_tool", "no such operation")
        return {**reply, "status": "ok", "output": operation(request, request.get("input"))}
    except Failure as failure:
        error = {"code": failure.code, "reason": "tool_backend_failure", "retryable": failure.retryable}
        return {**reply, "status": "error", "error": {**error, "message": str(failure), "details": {}}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, reply = 200, answer(request)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            status, reply = 400, {"message": f"not an envelope that can be used: {error!r}"}
        with contextlib.suppress(ConnectionError):  # a caller that was canceled has gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8080), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
