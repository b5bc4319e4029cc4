"""The benchmark of serving: documents with their answers, and one short run against a server of its own."""

from __future__ import annotations

import pytest

from scripts.benchmarks import serving
from tests.serving.documents import document, model_of_kind, parsed


def test_documents_cover_the_file_and_know_their_answers(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(document(1, 8).replace("\t_\t0\tdep", "\tA=b\t0\tdep"))
    model = model_of_kind()
    made = serving.make_documents(model, path)
    assert len(made) == 4
    assert "".join(one.answer for one in made) == parsed(model, path.read_text())
    path.write_text("# nothing\n\n")
    with pytest.raises(ValueError, match="there are no sentences to send"):
        serving.make_documents(model, path)


@pytest.mark.long
def test_a_short_run(tmp_path):
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra serve)")
    model_of_kind().save(tmp_path / "model")
    path = tmp_path / "a.conllu"
    path.write_text(document(1, 30).replace("\t_\t0\tdep", "\tA=b\t0\tdep"))
    result = serving.run(tmp_path / "model", path, clients=5, seconds=1)
    assert result["wrong"] == 0, result["examples_of_wrong"]
    assert result["answers"] >= 5
    assert "words/s" in serving.as_table(result)
    with pytest.raises(ValueError, match=r"not start: error: .*no such model folder"):
        serving.serving(tmp_path / "none").__enter__()
