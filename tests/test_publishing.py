"""What leaves for a hub or for an annotation tool: metadata that the hub reads, an upload that is private, rows that
come back."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import huggingface_hub
import pytest
from test_export import NAMES, compaug, run  # noqa: F401

from compaug.core.files import InputError, read_json, write_json
from compaug.data.readers import columns, tabular
from compaug.project import publishing

ARM = {"acc": 37.25, "jacc": 40.0, "n": 80, "seen_acc": 80.0, "ausuc": 51.5}


@pytest.fixture
def audited(run):  # noqa: F811
    write_json(run / "reports/measures.json", {"augmented": ARM, "baseline": ARM | {"acc": 12.5}})
    (run / "params.yaml").write_text("run: {benchmark: calls}\n")
    return run


def test_cards_are_read_by_the_hubs_own_library_with_results_of_the_audit(audited):
    compaug("export", "home")
    model = huggingface_hub.ModelCard.load(audited / "home/classifier/README.md").data
    results = {result.metric_name: (result.dataset_name, result.dataset_split, result.metric_value)
               for result in model.eval_results}  # fmt: skip
    assert results["Acc, unseen combinations"] == ("calls", "unseen combinations", 0.3725)
    assert results["Acc, seen combinations"] == ("calls", "seen combinations", 0.8)
    assert model.pipeline_tag == "text-classification" and model.library_name == "transformers"
    card = huggingface_hub.DatasetCard.load(audited / "home/texts/README.md")
    assert [part["config_name"] for part in card.data.configs] == ["synthetic", "train"]
    assert "| unseen; no synthetic texts | 80 | 12.50 | 40.00 |" in card.text
    config = read_json(audited / "home/classifier/config.json")
    assert config["id2label"] == {str(at): name for at, name in enumerate(NAMES.names)}
    assert config["problem_type"] == "multi_label_classification"


# ---------------------------------------------------------------- a stand-in of the hub


class Hub(BaseHTTPRequestHandler):
    """Keeps repositories in memory: {(kind, name): {private, files}}."""

    repositories: ClassVar[dict[tuple[str, str], dict]] = {}
    refuses = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.refuses:
            return self._answer({"error": "Invalid username or password."}, 401)
        path = self.path.split("/")
        if self.path == "/api/validate-yaml":
            return self._answer({"errors": [], "warnings": []})
        if self.path == "/api/repos/create":
            wish = json.loads(body)
            key = wish["type"], f"{wish['organization'] or 'me'}/{wish['name']}"
            status = 409 if key in self.repositories else 200
            self.repositories.setdefault(key, {"private": wish["visibility"] == "private", "files": {}})
            prefix = "datasets/" if wish["type"] == "dataset" else ""
            return self._answer({"url": f"http://{self.headers['Host']}/{prefix}{key[1]}"}, status)
        if "preupload" in path:
            files = json.loads(body)["files"]
            modes = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None} for f in files]
            return self._answer({"files": modes})
        if "commit" in path:
            kept = self.repositories[path[2].removesuffix("s"), "/".join(path[3:5])]["files"]
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    kept[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            place = f"http://{self.headers['Host']}/{'/'.join(path[3:5])}"
            return self._answer({"commitUrl": f"{place}/commit/{'1' * 40}", "commitOid": "1" * 40})
        return self._answer({"error": f"no {self.path}"}, 404)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].split("/")
        key = path[2].removesuffix("s"), "/".join(path[3:5])
        if key not in self.repositories:
            return self._answer({"error": "not found"}, 404)
        return self._answer({"id": key[1], "private": self.repositories[key]["private"], "siblings": [], "tags": []})

    def _answer(self, value: object, status: int = 200) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words) -> None:
        pass


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(Hub, "repositories", {})
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
    yield Hub
    server.shutdown()
    server.server_close()


def test_an_export_is_pushed_whole_and_private(audited, hub, capsys):
    compaug("export", "home", "--push", "me/calls")
    message = capsys.readouterr().out
    assert f"model me/calls: private; {publishing.DERIVED}" in message and "dataset me/calls: private" in message
    assert {key: repository["private"] for key, repository in hub.repositories.items()} == {
        ("dataset", "me/calls"): True,
        ("model", "me/calls"): True,
    }
    files = hub.repositories["model", "me/calls"]["files"]
    for path in (audited / "home/classifier").iterdir():
        assert files[path.name] == path.read_bytes(), path.name
    assert len(hub.repositories["dataset", "me/calls"]["files"]) == 3


def test_only_who_says_so_publishes(audited, hub):
    compaug("export", "home", "--what", "texts", "--push", "open", "--public")
    assert hub.repositories == {("dataset", "me/open"): hub.repositories["dataset", "me/open"]}
    before = dict(hub.repositories["dataset", "me/open"]["files"])
    assert not hub.repositories["dataset", "me/open"]["private"] and before
    (audited / "data/selected/run/augmented.jsonl").write_text("")
    with pytest.raises(InputError, match="--push me/open: that dataset is there and public; give --public, or another"):
        compaug("export", "home", "--what", "texts", "--push", "me/open")
    assert hub.repositories["dataset", "me/open"]["files"] == before


def test_what_the_hub_refuses_is_one_line(audited, hub, monkeypatch):
    monkeypatch.setattr(Hub, "refuses", True)
    with pytest.raises(InputError, match="--push me/calls: .*log in with `hf auth login`") as caught:
        compaug("export", "home", "--what", "texts", "--push", "me/calls")
    assert "\n" not in str(caught.value) and hub.repositories == {}
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    with pytest.raises(InputError, match="--push me/calls: .*refused"):
        compaug("export", "home", "--what", "texts", "--push", "me/calls")
    with pytest.raises(InputError, match="--public: give --push NAME too"):
        compaug("export", "home", "--public")
    with pytest.raises(InputError, match="--format argilla: is for --what texts, without --push"):
        compaug("export", "home", "--format", "argilla")


# ---------------------------------------------------------------- annotation tools


def read_back(path: Path, rows: list[dict]) -> list[tuple[str, set[str]]]:
    """What the reader of own corpora takes from a tool's export."""
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows), encoding="utf-8")
    corpus = tabular.read({}, columns.guess(path, {}).options)
    return [(e.text, {corpus.labels.names[label] for label in e.labels}) for e in corpus.examples]


EXPECTED = [("darling 你好", {"love"}), ("shiver", {"Joy & co", "fear"})]


def test_label_studio_shows_requests_as_predictions_and_its_export_is_a_corpus(audited):
    compaug("export", "home", "--what", "texts", "--format", "label_studio")
    tasks = read_json(audited / "home/texts/tasks.json")
    assert [task["predictions"][0]["score"] for task in tasks] == [0.5, 1.0]
    assert tasks[0]["predictions"][0]["model_version"] == "ls_pt"
    assert '<Choice value="Joy &amp; co"/>' in (audited / "home/texts/config.xml").read_text()
    exported = [
        {"id": at, "data": task["data"], "annotations": [{"result": task["predictions"][0]["result"]}]}
        for at, task in enumerate(tasks)
    ]
    assert read_back(audited / "curated.json", exported) == EXPECTED


def test_argilla_shows_requests_as_suggestions_and_its_export_is_a_corpus(audited):
    compaug("export", "home", "--what", "texts", "--format", "argilla")
    records = read_json(audited / "home/texts/records.json")
    assert records[1]["suggestions"]["labels"] == {
        "value": ["Joy & co", "fear"],
        "score": [1.0, 1.0],  # argilla wants one for each
        "agent": "ls_pt",
    }
    assert "names = ['Joy & co', 'love', 'fear']" in (audited / "home/texts/README.md").read_text()
    flat = [
        {
            "id": record["id"],
            "status": "completed",
            **record["fields"],
            "labels.suggestion": record["suggestions"]["labels"]["value"],
            "labels.responses": [record["suggestions"]["labels"]["value"]],
            "labels.responses.users": ["a"],
            "labels.responses.status": ["submitted"],
        }
        for record in records
    ]
    assert read_back(audited / "curated.jsonl", flat) == EXPECTED
