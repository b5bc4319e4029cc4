"""The server over HTTP: every answer is what parse.py writes;
what is wrong is a line with a status of 4xx.
"""

import html
import json
import mimetypes
import re
import socket
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from parser.commands import serve
from parser.decoding.parse_options import ParseOptions
from parser.serving.app import Limits, closing, create_app
from parser.serving.service import Service
from tests.serving.browser import BROWSER, OPTIONS, browser, in_browser
from tests.serving.documents import EXAMPLE, document, model_of_kind, parsed

pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
pytest.importorskip("python_multipart", reason="python-multipart is not installed (extra serve)")
pytest.importorskip("httpx2", reason="httpx2 is not installed (extra dev)")

from fastapi.testclient import TestClient

from parser.serving import page


@pytest.fixture(scope="module")
def service() -> Service:
    service = Service(model_of_kind(), "toy", ParseOptions(allow_missing_columns=True))
    page.warm_up(service)
    return service


@pytest.fixture(scope="module")
def client(service):
    with TestClient(create_app(service, Limits(bytes=100_000, seconds=600))) as client:
        yield client


_MULTIPART = (
    b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n'
    + b"a" * 30_000
    + b"-a\r\n--x--\r\n"
)
_MULTIPART_TYPE = "multipart/form-data; boundary=x"


def multipart(client, content_type: str):
    return client.post(
        "/process?input=horizontal", content=_MULTIPART, headers={"content-type": content_type}
    )


def test_health_and_models(client):
    """HEAD only looks whether they are there, as curl -I and watchers of servers do."""
    assert client.get("/health").json() == {"status": "ok", "model": "toy"}
    for answer in (client.get("/models"), client.post("/models")):
        assert answer.json() == {"models": {"toy": ["parser"]}, "default_model": "toy"}
    assert [client.head(path).status_code for path in ("/health", "/models", "/")] == [200] * 3


def test_a_request_is_a_line_of_the_log(client, caplog):
    with caplog.at_level("INFO", "parser.serving.app"):
        client.post("/process?model=secret", data={"data": document(1), "parser": ""})
        client.get("/a%0Ab")
    lines = [
        record.getMessage() for record in caplog.records if record.name == "parser.serving.app"
    ]
    assert [line.rpartition(",")[0] for line in lines] == ["POST /process 400", "GET /a%0Ab 404"]


@pytest.mark.parametrize("place", ["read", "_rewritten"])
@pytest.mark.parametrize("path", ["/process", "/"])
def test_a_fault_of_ours_is_no_bad_request_and_is_logged_with_its_traceback(
    service, monkeypatch, caplog, place, path
):
    def fail(*_: object) -> None:
        raise ValueError("zip() argument 2 is shorter than argument 1")

    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        monkeypatch.setattr(service, place, fail)
        answer = client.post(path, data={"data": document(1), "parser": ""})
        assert (answer.status_code, answer.text) == (
            500,
            "the server failed on this; its log says why, and asks to report it\n",
        )
    assert (
        "this is a fault of optimal-step, not of the request; please report it, "
        "with the lines below" in caplog.messages
    )
    with (
        TestClient(create_app(service)) as client,
        pytest.raises(RuntimeError, match=r"ValueError: zip\(\) arg") as fault,
    ):
        client.post(path, data={"data": document(1), "parser": ""})
    assert fault.value.__cause__ is not None
    assert fault.traceback  # the server's log has both tracebacks
    assert fault.value.__cause__.__traceback__ is not None


def test_get_and_post_forms_and_files(client, service):
    text = document(7)
    fields = {"data": text, "parser": "", "model": "toy"}
    others = {name: value for name, value in fields.items() if name != "data"}
    answers = [
        client.get("/process", params=fields),
        client.post("/process", data=fields),
        client.post("/process", params=others, data={"data": text}),
        client.post("/process", files={name: (None, value) for name, value in fields.items()}),
        client.post("/process", data=others, files={"data": ("/etc/passwd", text)}),
        client.post(
            "/process",
            data=others,
            files={"data": ("../../x", text.encode(), "application/octet-stream")},
        ),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == {
            "model": "toy",
            "acknowledgements": [],
            "result": parsed(service.model, text),
        }
        assert "é" in answer.content.decode()
    assert multipart(client, f'{_MULTIPART_TYPE}; charset="UTF-8"').status_code == 200


@pytest.mark.parametrize(
    ("send", "status", "told"),
    [
        (
            lambda c: c.get("/process"),
            400,
            "data is missing; give the text, or the sentences, as the parameter data",
        ),
        (
            lambda c: c.get("/process?data=%FF"),
            400,
            "the parameters cannot be read: 'utf-8' codec",
        ),
        (
            lambda c: c.get("/process?" + "a=&" * 99),
            400,
            "the parameters cannot be read: Max number",
        ),
        (
            lambda c: c.post("/process", data={"data": "1\ta"}),
            400,
            "data, line 1, sentence 1: 2 columns where CoNLL-U has 10",
        ),
        (
            lambda c: c.post("/process", files={"data": b"\xff"}),
            400,
            "the request is not UTF-8 at byte",
        ),
        (
            lambda c: c.post("/process", json={"data": ""}),
            400,
            "send a form: Content-Type application/x-www-form-urlencoded",
        ),
        (
            lambda c: multipart(c, "multipart/form-data"),
            400,
            "the multipart form cannot be read: Missing boundary",
        ),
        # Decoding by this codec takes time that is the square of the length.
        (
            lambda c: multipart(c, f"{_MULTIPART_TYPE}; charset=punycode"),
            400,
            "Content-Type names a charset other than UTF-8",
        ),
        (
            lambda c: multipart(c, f'{_MULTIPART_TYPE}; Charset*="x"'),
            400,
            "Content-Type names a charset other than UTF-8",
        ),
        (
            lambda c: c.post("/process", data={"data": "a" * 100_001}),
            413,
            "the request has more than 100,000 bytes; send",
        ),
        (lambda c: c.get("/etc/passwd"), 404, "only /, /health, /models and /process exist"),
        (lambda c: c.get("/docs"), 404, "only /, /health, /models and /process exist"),
        (lambda c: c.put("/process"), 405, "Method Not Allowed"),
    ],
)
def test_errors_are_a_line(client, send, status, told):
    answer = send(client)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "text/plain; charset=utf-8",
    )
    assert answer.text.startswith(told)
    assert answer.text.count("\n") == 1


def test_no_file_is_opened_for_a_request(client, monkeypatch, tmp_path):
    secret = tmp_path / "secret.conllu"
    secret.write_text(document(1))
    for name in ("data", "model", "input", "output", "tokenizer", "file"):
        answer = client.post("/process", data={"data": "", "parser": ""} | {name: str(secret)})
        assert "sent_id = 1-0" not in answer.text
    mimetypes.init()  # reads files, for the client
    monkeypatch.setattr("builtins.open", None)
    monkeypatch.setattr("io.open", None)
    answer = client.post(
        "/process", files={"data": (str(secret), document(2)), "parser": (None, "")}
    )
    assert answer.status_code == 200


def test_the_page(client, service):
    empty = client.get("/")
    assert empty.status_code == 200
    assert "<textarea" in empty.text
    assert "<h2>" not in empty.text
    text = document(4, 2)
    for answer in (client.post("/", data={"data": text}), client.get("/", params={"data": text})):
        assert answer.status_code == 200
        assert answer.text.count("<svg") == answer.text.count("<details>") == 4
        assert "other arcs considered" in answer.text
        assert "&lt;c&gt;" in answer.text
        assert "<c>" not in answer.text
    # Nothing comes from anywhere else, and nothing is run but one script,
    # which the policy knows by its hash.
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"<link|<img|<iframe|\bsrc=|\bhref=|@import|url\(|\bon\w+=", answer.text)
    [script] = re.findall("<script>(.*?)</script>", answer.text, re.DOTALL)
    assert answer.text.count("<script") == 1
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}';" in policy
    words = client.post("/", data={"data": "a b <c>\r\n"})
    assert words.text.count("<svg") == 2
    assert ">\na b &lt;c&gt;\n</textarea>" in words.text


def test_the_title_names_the_project_and_probabilities_are_folded(client):
    shown = client.post("/", data={"data": "a b é"}).text
    assert "<title>optimal-step: toy</title>" in shown
    folded = shown.partition('<details class="probabilities"><summary>Probabilities</summary>')[
        2
    ].partition("</details>")[0]
    assert "<th>other arcs considered</th>" in folded
    assert "Probability: of the step that made the arc" in folded
    assert shown.count("other arcs considered") == 1


def test_the_page_lists_what_was_corrected_with_a_button_for_each(client):
    """The buttons also work without the script."""
    fields = {
        "data": "a <c> é a\nb",
        "heads": "1.2=4:obj 1.3=4 1.4=0",
        "own_heads": "1.2",
        "upos": "1.3=NOUN",
    }
    shown = client.post("/", data=fields).text
    [listed] = re.findall(r'<ul class="corrections">(.*?)</ul>', shown, re.DOTALL)
    assert re.findall(r"<li>(.*?): ", listed) == ["&lt;c&gt;_2", "é_3", "a_4"]
    assert re.findall(r"(head|relation|UPOS) <b>(.*?)</b>", listed) == [
        ("relation", "obj"),
        ("head", "a_4"),
        ("UPOS", "NOUN"),
        ("head", "ROOT"),
    ]
    buttons = re.findall(r'<button form="form" name="undo" value="(.*?)">undo</button>', listed)
    assert buttons == ["1.2.deprel", "1.3.head", "1.3.upos", "1.4.head"]
    assert "Undo 4 corrections" in shown
    again = client.post("/", data=fields | {"undo": "1.3.upos"}).text
    assert "Undo 3 corrections" in again
    assert "UPOS <b>" not in again
    # without its head, there is no relation
    both = client.post("/", data={"data": "a b é", "heads": "1.2=3:obj"}).text
    assert 'value="1.2.head">undo both</button>' in both
    assert 'value="1.2.deprel">undo</button>' in both
    downloaded = client.post("/", data=fields | {"download": ""}).text
    assert (
        downloaded.count("# corrected = 2 deprel; 3 head upos; 4 head\n")
        == downloaded.count("# corrected")
        == 1
    )


def test_the_page_parses_the_models_example(client):
    assert '<button name="example">' not in client.get("/").text  # of a model without one
    # it also reads FEATS, which are there
    service = Service(model_of_kind(), "toy", example=EXAMPLE)
    with TestClient(create_app(service, Limits(seconds=600))) as client:
        answer = client.get("/", params={"data": "", "example": ""})
    assert (answer.status_code, answer.text.count("<svg")) == (200, 2)
    assert "\n1\tÍgy\t_\tX\t_\tA=b\t_" in answer.text.partition("</textarea>")[0]


@pytest.mark.parametrize("heads", ["", "1.2=0 2.1=2:zz"])
def test_what_is_shown_is_downloaded(client, service, heads):
    known = service.relations[0]
    fields = {"data": "a b é\nb a\n" + "a\n" * 20, "heads": heads.replace("zz", known)}
    shown = client.post("/", data=fields)
    assert '<button form="form" name="download">' in shown.text
    answer = client.post("/", data=fields | {"download": ""})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''toy.conllu"
    trees = answer.text.strip().split("\n\n")
    assert len(trees) == 22  # of which the page shows ten
    shown_trees = [
        html.unescape(pre).strip() for pre in re.findall("<pre>(.*?)</pre>", shown.text, re.DOTALL)
    ]
    assert shown_trees == trees[:10]
    assert not heads or f"\tb\t_\t_\t_\t_\t2\t{known}\t" in trees[1]
    wrong = client.post("/", data={"data": "1\ta" + "\t_" * 8 + "\n3\t", "download": ""})
    assert (wrong.status_code, "download" in wrong.text.partition("<script>")[0]) == (400, False)


@pytest.mark.parametrize("path", ["/models", "/process?data=&parser=", "/", "/process", "/none"])
def test_pages_of_any_origin_may_ask(client, path):
    asking = {"Origin": "https://example.org"}
    assert client.get(path, headers=asking).headers["access-control-allow-origin"] == "*"
    too_long = client.post(path, data={"data": "a" * 100_001}, headers=asking)
    assert (too_long.status_code, too_long.headers["access-control-allow-origin"]) == (413, "*")
    before = client.options(
        path,
        headers=asking
        | {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type, x-mine",
        },
    )
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == "*"
    assert {"GET", "POST", "OPTIONS"} <= {
        *before.headers["access-control-allow-methods"].split(", ")
    }
    assert before.headers["access-control-allow-headers"] == "content-type, x-mine"
    assert "access-control-allow-credentials" not in before.headers
    if path != "/none":
        assert (client.options(path).status_code, client.options(path).headers["allow"]) == (
            204,
            "GET, HEAD, POST, OPTIONS",
        )


@pytest.mark.parametrize("prefix", ["", "/a/parser"])
def test_below_a_path_of_another_server(service, prefix):
    """That server may have taken the path off."""
    with TestClient(create_app(service, Limits(seconds=600), "/a/parser")) as client:
        assert client.get(f"{prefix}/health").json() == {"status": "ok", "model": "toy"}
        assert (
            client.post(f"{prefix}/process", data={"data": document(1), "parser": ""}).status_code
            == 200
        )
        moved = client.get(f"{prefix}/models/", follow_redirects=False)
        assert moved.headers["location"] == "http://testserver/a/parser/models"
        shown = client.get(f"{prefix}/", params={"data": "a b"}).text
        assert client.get("/a/parserx/models").status_code == 404
    assert re.findall(r'(?:action|href|src)="(.*?)"', shown) == ["?"]


def test_the_page_speaks_of_its_box_where_tags_are_missing():
    with TestClient(create_app(Service(model_of_kind(), "strict"), Limits(seconds=600))) as client:
        many = "a " * 100
        told = client.get("/", params={"data": many}).text
        assert "parse it anyway, far less accurately, with the box below the text" in told
        assert "--allow-missing-columns" not in told
        assert 'type="checkbox" name="allow_missing_columns">' in told
        answer = client.get("/process", params={"data": many, "input": "horizontal", "parser": ""})
        assert "with the server's --allow-missing-columns" in answer.text


def test_the_page_shows_what_the_parser_found(service):
    (answer,) = service.answers([page.page_request(service, {"data": document(5, 1)})])
    _, sentence = page.result_parts(service, answer)
    sentence = sentence.partition("<summary>The computation")[0]
    rows = re.findall(r"<tr><td>(\d+)</td><td>[^<]*</td><td>([^<]*)</td><td>([^<]*)</td>", sentence)
    columns = [line.split("\t") for line in answer.splitlines() if line[:1].isdigit()]
    assert [
        (number, head.rpartition("_")[2].replace("ROOT", "0"), deprel)
        for number, head, deprel in rows
    ] == [(c[0], c[6], c[7]) for c in columns]


def test_the_page_draws_no_very_long_sentence_and_says_what_is_wrong_with_what_was_typed(
    client, monkeypatch
):
    monkeypatch.setattr(page, "LONGEST", 3)
    shown = client.post("/", data={"data": "a b a b\na b a"}).text
    assert shown.count('data-copy="svg"') == 1
    assert shown.count("<svg") == 1 + shown.count("The computation in ") == 3
    assert "Sentences of up to 3 words are drawn." in shown
    answer = client.post("/", data={"data": "1\ta" + "\t_" * 8 + "\n<3\t\n"})
    assert answer.status_code == 400
    assert 'role="alert">data, line 2, sentence 1: 2 columns' in answer.text
    assert "&lt;3\t\n</textarea>" in answer.text
    assert client.post("/", data={"data": " \n"}).text.count("There are no words here.") == 1


@contextmanager
def running_server(
    service: Service, of_connections: Limits, given: socket.socket | None = None
) -> Iterator[tuple[str, int]]:
    """Run a server that listens, on a socket if one is given; yield its address, and its port."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra serve)")
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    with given or socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        app = create_app(service, Limits(seconds=600))
        config = uvicorn.Config(
            app, http=closing(AutoHTTPProtocol, of_connections), log_level="warning", ws="none"
        )
        running = uvicorn.Server(config)
        thread = Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def server(service):
    """Run a server that listens; yield its address."""
    with running_server(service, Limits(seconds=600)) as (host, port):
        yield f"http://{host}:{port}"


ASKED = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.fixture
def connected():
    with ExitStack() as opened:
        yield lambda address, n: [
            opened.enter_context(socket.create_connection(address)) for _ in range(n)
        ]


def test_connections_that_bring_no_request_and_too_many_are_closed(service, connected):
    with running_server(service, Limits(seconds=0.1)) as address:
        silent, halting = connected(address, 2)
        halting.sendall(ASKED[:-2])
        assert silent.recv(1) == halting.recv(1) == b""
    with running_server(service, Limits(seconds=600, requests=1)) as address:
        *within, beyond = connected(address, 5)
        with suppress(ConnectionResetError):
            assert beyond.recv(1) == b""
        for kept in within:
            kept.sendall(ASKED)
            assert kept.recv(12) == b"HTTP/1.1 200"


def test_clients_at_the_same_time_and_one_that_sends_too_much_see_the_answer(server, service):
    import httpx2

    assert (
        httpx2.post(f"{server}/process", data={"data": "a" * 8_000_000}, timeout=600).status_code
        == 413
    )
    texts = [document(seed) for seed in range(60)]

    def ask(text: str) -> str:
        return httpx2.post(
            f"{server}/process", data={"data": text, "parser": ""}, timeout=600
        ).json()["result"]

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(ask, texts)) == [parsed(service.model, text) for text in texts]


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_a_unix_socket(service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # their paths may not be long
    path = Path("socket")

    def asked() -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(ASKED)
            return client.recv(12)

    for _ in range(2):  # the second time, there is what the first left
        with serve._listening_file(path) as (listening, address):
            assert address == "socket"
            with running_server(service, Limits(seconds=600), listening):
                assert asked() == b"HTTP/1.1 200"
                with (
                    pytest.raises(ValueError, match="socket: another server listens there; end it"),
                    serve._listening_file(path),
                ):
                    pass
                assert asked() == b"HTTP/1.1 200"
    Path("file").write_text("mine")
    for wrong in ("file", "none/socket", "a" * 200):
        with (
            pytest.raises(ValueError, match="no socket can be made there"),
            serve._listening_file(Path(wrong)),
        ):
            pass
    assert Path("file").read_text() == "mine"


def test_a_client_of_udpipe_works(server, service):
    online = pytest.importorskip(
        "udapi.tool.udpipeonline", reason="udapi is not installed (it comes with udtools)"
    )
    udpipe = online.UDPipeOnline("toy", server)
    assert udpipe.list_models() == ["toy"]
    text = document(6)
    request = {"model": "toy", "data": text, "parser": ""}
    assert udpipe.perform_request_urlencoded(request) == parsed(service.model, text)
    assert udpipe.perform_request(request).replace("\r\n", "\n") == parsed(service.model, text)
    assert (
        udpipe.perform_request_urlencoded(
            {"data": "a b\nc", "input": "horizontal", "output": "vertical"}
        )
        == "a\nb\n\nc\n\n"
    )


@pytest.fixture
def open_browser(tmp_path):
    return lambda size: browser(tmp_path, size)


@pytest.mark.extras
@in_browser
def test_the_page_in_a_browser(server, tmp_path):
    command = [str(BROWSER), *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}"]
    # No other host can be found, so that what the page needs is all here.
    command += [
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--window-size=900,1200",
        "--dump-dom",
    ]
    done = subprocess.run(
        [*command, f"{server}/?data={quote('a b é a')}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<svg") == 2
    assert done.stdout.count('<section data-made="" hidden="">') >= 1  # the script has run
    assert len(re.findall(r'<section data-made="[ \d]*">', done.stdout)) == 1
    assert done.stdout.count('<g data-child="1" style="visibility: hidden;">') == 1
    assert re.search(r"<summary>The computation in \d+ steps</summary>", done.stdout)
    assert "Refused to" not in done.stderr  # by the policy of the page


# Where words are in the window, and their heads; of the first tree.
WORDS = """[...document.querySelectorAll('.sentence > .tree svg text[font-size="15"]')].map(
word => {
  const box = word.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})"""
HEADS = (
    r"""document.querySelector("pre").textContent.split("\n").map(line => line.split("\t")[6])"""
    ".filter(Boolean).map(Number)"
)


CORRECTIONS = "form.elements.heads.value"
# Fulfilled when corrections are taken or refused.
FRAME = "() => new Promise(requestAnimationFrame)"
ANSWERED = """new Promise(done => new MutationObserver((_, observer) => {
  if (waiting || document.querySelector(".dragged")) return;
  observer.disconnect();
  done(true);
}).observe(document.body, {childList: true, subtree: true}))"""


@pytest.mark.extras
@in_browser
def test_trees_are_corrected_in_place(server, tmp_path, open_browser):
    with open_browser("400,900") as browser:

        def answered(start: list[float], end: list[float]) -> None:
            """Drags; the page must stay where it is."""
            at = browser.value("scrollY")
            browser.value(
                f"void (answered = {ANSWERED}.then({FRAME}).then({FRAME}).then(() => scrollY))"
            )
            browser.drag(start, end)
            assert browser.value("answered") == at > 0

        browser.go(f"{server}/?data={quote('a b é a b')}")
        assert not browser.value("document.querySelector('[data-dragging]').hidden")
        browser.value("void (details = document.querySelector('details')).toggleAttribute('open')")
        browser.value("document.querySelector('.sentence').scrollIntoView()")
        before = browser.value(HEADS)
        # so that the root changes, too
        child = next(word for word in range(1, 6) if before[word - 1] != 0)
        places = browser.value(WORDS)
        top = browser.value("document.querySelector('.sentence > .tree').getBoundingClientRect().y")
        answered(places[child - 1], [places[child - 1][0], top + 5])  # above the drawing
        assert browser.value(CORRECTIONS) == f"1.{child}=0"
        assert browser.value("document.querySelector('details').open && !details.isConnected")
        after = browser.value(HEADS)
        assert (after[child - 1], after.count(0)) == (0, 1)

        # On one side of the root, so that the arcs do not cross.
        pairs = [
            (other, head)
            for other, head in permutations(range(1, 6), 2)
            if (other - child) * (head - child) > 0
        ]
        other, head = next((other, head) for other, head in pairs if after[other - 1] != head)
        places = browser.value(WORDS)
        answered(places[other - 1], places[head - 1])
        assert browser.value(CORRECTIONS) == f"1.{child}=0 1.{other}={head}"
        final = browser.value(HEADS)
        assert (final[child - 1], final[other - 1]) == (0, head)
        assert browser.value("document.querySelectorAll('.draggable .given').length") == 2
        browser.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 10_000

        # A cycle is refused below the tree, which stays.
        places = browser.value(WORDS)
        answered(places[head - 1], places[other - 1])
        assert "a cycle" in browser.value(
            "document.querySelector('.sentence > [role=alert]').textContent"
        )
        assert browser.value(CORRECTIONS) == f"1.{child}=0 1.{other}={head}"
        assert browser.value(HEADS) == final

        # What is typed meanwhile is another text.
        browser.value("void (typed.value = 'a', typed.oninput())")
        assert browser.value("document.querySelector('[name=download]').disabled")
        browser.value("void (typed.value = typed.defaultValue, typed.oninput())")
        assert not browser.value("document.querySelector('[name=download]').disabled")

        browser.value(
            f"void (answered = {ANSWERED}, document.querySelector('button[name=forget]').click())"
        )
        browser.value("answered")
        assert browser.value(HEADS) == before
        assert browser.value(CORRECTIONS) == ""
        assert browser.value("details instanceof Node")  # the page has not been loaded again


RELATION = """(() => {
  const drawn = document.querySelector(`.sentence > .tree g[data-child="WORD"] text`);
  const box = drawn.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


@pytest.mark.extras
@in_browser
def test_relations_are_corrected_and_kept_by_the_next_parse(server, service, open_browser):
    with open_browser("900,1200") as browser:
        browser.go(f"{server}/?data={quote('a b é a b')}")
        heads = browser.value(HEADS)
        root, word = heads.index(0) + 1, next(word for word in range(1, 6) if heads[word - 1] != 0)
        for clicked, hidden in ((root, True), (word, False)):  # the root has the relation of roots
            place = browser.value(RELATION.replace("WORD", str(clicked)))
            browser.drag(place, place)
            assert browser.value("relations.hidden") == hidden
        was = browser.value("relations.value")
        wanted = next(relation for relation in service.relations if relation != was)
        correct = f"relations.value = {json.dumps(wanted)}, relations.onchange(), relations.hidden"
        assert browser.value(f"answered = {ANSWERED}.then(() => relations.hidden), {correct}")
        assert browser.value("answered")
        for parsed_again in (False, True):
            if parsed_again:
                browser.value("document.querySelector('form button').click()")
                browser.wait("Page.loadEventFired")
            assert browser.value(CORRECTIONS) == f"1.{word}={heads[word - 1]}:{wanted}"
            assert browser.value(HEADS)[word - 1] == heads[word - 1]
            assert wanted in browser.value(
                f"document.querySelector('.given.named[data-child=\"{word}\"]').textContent"
            )


CURVE_ENDS_AT = """(() => {
  const line = document.querySelector(".dragged");
  const at = line.getPointAtLength(line.getTotalLength());
  const shown = at.matrixTransform(line.getScreenCTM());
  return [shown.x, shown.y, document.querySelectorAll(".target").length];
})()"""


@pytest.mark.extras
@in_browser
def test_keys_tags_and_single_undoing_in_a_browser(server, service, open_browser):
    with open_browser("900,1200") as browser:
        browser.go(server)
        assert not browser.value("document.querySelector('[data-typing]').hidden")
        browser.value("void (typed.value = 'a b é a b', typed.focus())")
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        browser.send("Input.dispatchKeyEvent", type="keyDown", modifiers=2, **key)  # with Ctrl
        browser.wait("Page.loadEventFired")
        assert len(browser.value(HEADS)) == 5

        # The curve ends at the mouse, and the word that would be the head is marked.
        (x, y), _, (other_x, other_y), *_ = browser.value(WORDS)
        moves = [("mouseMoved", (x + 30, y - 40), 0), ("mouseMoved", (other_x + 7, other_y), 1)]
        for kind, place, target in [("mousePressed", (x, y), None), *moves]:
            mouse = {"x": place[0], "y": place[1], "button": "left", "buttons": 1, "clickCount": 1}
            browser.send("Input.dispatchMouseEvent", type=kind, **mouse)
            if target is not None:
                end_x, end_y, targets = browser.value(CURVE_ENDS_AT)
                assert (abs(end_x - place[0]) < 1, abs(end_y - place[1]) < 1, targets) == (
                    True,
                    True,
                    target,
                )
        browser.send(
            "Input.dispatchMouseEvent",
            type="mouseMoved",
            x=x,
            y=y,
            button="left",
            buttons=1,
            clickCount=1,
        )
        browser.send(
            "Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1
        )
        assert browser.value("document.querySelectorAll('.dragged, .target').length") == 0

        def answered(action: str) -> None:
            browser.value(f"void (answered = {ANSWERED}.then({FRAME}).then({FRAME}))")
            browser.value(f"void ({action})")
            browser.value("answered")

        x, y = browser.value(WORDS)[2]
        browser.drag((x, y + 17), (x, y + 17))  # a click on its UPOS
        assert browser.value("[tags.hidden, relations.hidden]") == [False, True]
        answered("tags.value = 'NOUN', tags.onchange()")
        assert browser.value("form.elements.upos.value") == "1.3=NOUN"
        assert browser.value(
            "[...document.querySelectorAll('.corrected')].map(tag => tag.textContent)"
        ) == ["NOUN"]
        assert (
            browser.value("document.querySelector('pre').textContent").count(
                "# corrected = 3 upos\n"
            )
            == 1
        )

        # A relation that was chosen stays where the head is changed,
        # and each correction is undone alone.
        heads = browser.value(HEADS)
        word = next(word for word in range(1, 6) if heads[word - 1] != 0)
        place = browser.value(RELATION.replace("WORD", str(word)))
        browser.drag(place, place)
        answered(f"relations.value = {json.dumps(service.relations[0])}, relations.onchange()")
        assert browser.value("form.elements.own_heads.value") == f"1.{word}"
        head = next(
            n for n in range(1, 6) if n not in (word, heads[word - 1]) and heads[n - 1] != word
        )
        places = browser.value(WORDS)
        browser.value(f"void (answered = {ANSWERED}.then({FRAME}).then({FRAME}))")
        browser.drag(places[word - 1], places[head - 1])
        browser.value("answered")
        values = "fields.map(field => form.elements[field].value)"
        assert browser.value(values) == [f"1.{word}={head}:{service.relations[0]}", "", "1.3=NOUN"]
        answered("document.querySelector('[name=undo][value$=\".deprel\"]').click()")
        assert browser.value(values) == [f"1.{word}={head}", "", "1.3=NOUN"]
        answered("document.querySelector('[name=undo][value$=\".upos\"]').click()")
        assert browser.value(values) == [f"1.{word}={head}", "", ""]
        answered("document.querySelector('[name=undo]').click()")
        assert browser.value(values) == ["", "", ""]
        assert browser.value("document.querySelectorAll('.corrections').length") == 0
        assert browser.value(HEADS) == heads
