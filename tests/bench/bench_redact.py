"""Print how fast the redactor is, beside encoding and hashing the same texts.

Run it as `python -m tests.bench.bench_redact [DIRECTORY]`.  A directory holds Claude Code transcripts;
without one, texts are the docstrings and sources of the running Python.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from archivist.redact import Redactor

REPEATS = 5
JOINED = 20
TEXTS_MB_MAX = 40


def strings(value: object) -> Iterator[str]:
    """Give every string within a decoded record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def of_transcripts(directory: Path) -> Iterator[str]:
    """Give the texts of the messages, without ids and the like."""
    for path in sorted(directory.rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            content = record.get("message", {}).get("content", "")
            yield from (text for text in strings(content) if " " in text)


def of_python() -> Iterator[str]:
    """Give functions' docstrings and modules' sources of the standard library."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        source = path.read_text("utf-8")
        yield source
        for item in ast.walk(ast.parse(source)):
            if isinstance(item, ast.FunctionDef | ast.ClassDef):
                yield ast.get_docstring(item) or ""


def limited(texts: Iterator[str]) -> list[str]:
    """Take texts up to a bound, so that a large directory doesn't fill the memory."""
    taken, characters = [], 0
    for text in texts:
        taken.append(text)
        characters += len(text)
        if characters > TEXTS_MB_MAX * 1_000_000:
            break
    return taken


def best_s(work: Callable[[str], object], texts: list[str]) -> float:
    """Measure the CPU time of the fastest of several runs."""
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        for text in texts:
            work(text)
        spent.append(time.process_time() - start)
    return min(spent)


def main() -> None:
    """Print one line for each way to cut the texts."""
    texts = limited(of_transcripts(Path(sys.argv[1])) if len(sys.argv) > 1 else of_python())
    redactor = Redactor([str(Path.home())])
    clean = [text for text in texts if redactor.redact(text)[0] is text]
    joined = ["\n".join(clean[at : at + JOINED]) for at in range(0, len(clean), JOINED)]
    for label, some in (("all", texts), ("without secrets", clean), (f"{JOINED} joined", joined)):
        size_mb = sum(len(text.encode("utf-8", "replace")) for text in some) / 1e6
        rate = size_mb / best_s(redactor.redact, some)
        floor = size_mb / best_s(lambda text: hashlib.sha256(text.encode("utf-8", "replace")).digest(), some)
        count = sum(redactor.redact(text)[1] for text in some)
        print(
            f"{label:16} {len(some):7} texts {size_mb:6.1f} MB  {count:6} redactions  "
            f"redact {rate:5.0f} MB/s   encode and hash {floor:5.0f} MB/s"
        )


if __name__ == "__main__":
    main()
