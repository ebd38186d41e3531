"""Sends a service what its own description allows and forbids, for every endpoint, and judges the answers by it.

Needs schemathesis for this Python, and bin/tiergate. Ends with 1 if an answer is a 5xx other than 503 and 504, has a status, header,
content type or body that api/openapi.yaml does not describe, or if the service logs an error.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOKEN = "soak-0123456789abcdef0123456789abcdef"

# What a document means is more than a schema can say, so that a launch which fits it may still be refused: acceptance is not judged.
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "refusal_of_wrong_documents", "unsupported_method", "allow_header_conformance", "ignored_auth",
]

SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503", "504"]

[checks.negative_data_rejection]
expected-statuses = ["4xx", "503"]
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(program: str, folder: pathlib.Path) -> tuple[subprocess.Popen, str]:
    """Starts a service with everything that can be opened over one address, for an administrator with all roles."""
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    (folder / "access.yaml").write_text(json.dumps({"tokens": [
        {"name": "all", "file": str(folder / "token"), "roles": ["launcher", "worker", "reader", "admin"]},
    ]}))
    (folder / "state").mkdir()
    url = f"http://127.0.0.1:{free_port()}"
    service = subprocess.Popen(
        [program, "serve", "--addr", url.removeprefix("http://"), "--access", folder / "access.yaml", "--admin-api",
         "--policy-state", folder / "state", "--decision-log", folder / "decisions", "--log-level", "warn"],
        stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"))
    for _ in range(600):
        try:
            with urllib.request.urlopen(url + "/health/ready"):
                return service, url
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
            if service.poll() is not None:
                break
    service.kill()
    sys.exit("the service is not ready: " + (folder / "log").read_text())


def errors(log: pathlib.Path) -> list[str]:
    """The lines at error level, but for policies that are none, and what is no line of the log: a panic, say."""
    found = []
    for line in log.read_text().splitlines():
        try:
            entry = json.loads(line)
            if entry["level"] == "ERROR" and not entry["msg"].startswith("policy refused"):
                found.append(line)
        except (ValueError, KeyError):
            found.append(line)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiergate", default=str(ROOT / "bin" / "tiergate"))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--examples", default="60", help="how many requests are made up for each endpoint")
    parser.add_argument("--seconds", default="60", help="how long it may take; not all examples are tried then")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "schemathesis.toml").write_text(SETTINGS)
        service, url = start(arguments.tiergate, folder)
        try:
            tried = subprocess.run(
                [sys.executable, "-m", "schemathesis.cli", "--config-file", folder / "schemathesis.toml",
                 "run", ROOT / "api" / "openapi.yaml", "--url", url, "--header", f"Authorization: Bearer {TOKEN}",
                 "--seed", arguments.seed, "--max-examples", arguments.examples, "--max-time", arguments.seconds,
                 "--phases", "examples,coverage,fuzzing", "--checks", ",".join(CHECKS), "--request-timeout", "20",
                 "--generation-database", "none", "--continue-on-failure", "--warnings", "off", "--no-color"],
                cwd=folder, env={"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "PATH": "/usr/bin:/bin"}, check=False)
        finally:
            service.terminate()
            ended = service.wait(30)
        logged = errors(folder / "log")
    for line in logged:
        print("logged:", line)
    print(f"the service ended with {ended} and logged {len(logged)} errors")
    return 1 if tried.returncode or ended or logged else 0


if __name__ == "__main__":
    sys.exit(main())
