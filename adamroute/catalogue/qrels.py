"""TREC qrels (`qid 0 docid grade`) and the topics that say what each qid asked.

Both become one table of query_id, query, item_id and grade, so that everything after reads one
form. Grades below 0, which TREC gives to spam, count as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adamroute.catalogue.decoding import decoded, unpacked
from adamroute.catalogue.left_out import Sieve
from adamroute.catalogue.table_files import Row, Table
from adamroute.catalogue.table_form import TableForm
from adamroute.errors import ShopError, shown

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
COLUMNS = frozenset(("query_id", "query", "item_id", "grade"))
FIELDS = "four fields: qid 0 docid grade"


def is_qrels(path: Path) -> bool:
    """Whether a file is read as qrels: its name ends as that of no table, as `judged.qrels`."""
    name = path.name.lower().removesuffix(".gz")
    return path.is_file() and not name.endswith(TABLES)


def topics_beside(path: Path) -> Path | None:
    """The topics of a qrels file where nobody names them: STEM.topics.tsv, else topics.tsv."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    names = (f"{stem}.topics.tsv", "topics.tsv")
    return next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)


def read_qrels(path: Path, topics: Path | None, form: TableForm) -> Table:
    """The rows of a qrels file with the words of their topics; ShopError names file and line."""
    if topics is None:
        raise ShopError(
            f"{path}: read as TREC qrels, since no table is called so; qrels hold no words, so "
            "topics are wanted, a line QID<TAB>QUERY for each qid. Name their file: --topics, "
            "or judged.topics in shop.yaml"
        )
    asked = _topics(topics, form)
    lines, encoding = _lines(path, form)
    sieve = Sieve(path, form.on_bad_row, total=len(lines))

    def made(line: tuple[str, str]) -> Row:
        return _row(*line, asked, topics)

    rows = tuple(sieve.through(lines, made))
    return Table(path, COLUMNS, rows, sieve, ".", {"encoding": encoding, "topics": topics.name})


def _row(where: str, line: str, asked: dict[str, str], topics: Path) -> Row:
    fields = line.split()
    if len(fields) != 4:
        raise ShopError(f"{where}: {len(fields)} fields, wanted {FIELDS}. Correct the line")
    query_id, _, item_id, grade = fields
    if query_id not in asked:
        raise ShopError(
            f"{where}: qid {shown(query_id)} is not among the {len(asked)} topics of "
            f"{topics.name}. Add its line there, or drop this one"
        )
    with suppress(ValueError):
        if float(grade) < 0:
            grade = "0"
    cells = {"query_id": query_id, "query": asked[query_id], "item_id": item_id, "grade": grade}
    return Row(where, cells)


def _topics(path: Path, form: TableForm) -> dict[str, str]:
    found: dict[str, str] = {}
    for where, line in _lines(path, form)[0]:
        query_id, tab, words = line.partition("\t")
        if not tab or not query_id.strip() or not words.strip():
            raise ShopError(f"{where}: {shown(line)}, wanted QID<TAB>QUERY. Correct the line")
        if query_id.strip() in found:
            raise ShopError(f"{where}: qid {shown(query_id)} twice, wanted once. Drop one line")
        found[query_id.strip()] = words.strip()
    return found


def _lines(path: Path, form: TableForm) -> tuple[list[tuple[str, str]], str]:
    """Lines that are not blank, each with its place, and the encoding."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShopError(f"{path}: cannot be read: {error.strerror}") from error
    text, encoding = decoded(path, unpacked(path, data), form)
    found = list(_numbered(path, text))
    if not found:
        raise ShopError(f"{path}: empty, wanted at least one line. Fill it or leave it out")
    return found, encoding


def _numbered(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", line
