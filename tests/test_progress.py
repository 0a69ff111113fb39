import pytest

from adamroute import progress


@pytest.mark.parametrize("bars", [True, False])
def test_work_is_counted_on_a_terminal_and_off_it(
    bars: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = progress.TerminalProgress(bars=bars)
    with shown.task("photo features", total=3) as advance:
        advance(1)
        advance(2)
    shown.note("done")
    printed = capsys.readouterr()
    assert "photo features" in printed.err
    assert "3/3" in printed.err
    assert printed.err.endswith("done\n")
    assert printed.out == ""  # what a command prints to be used stays alone on stdout


def test_silent_progress_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.SILENT.task("x", total=1) as advance:
        advance(1)
    progress.SILENT.note("x")
    assert capsys.readouterr() == ("", "")


def test_a_plain_line_comes_at_intervals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.0)
    with progress.TerminalProgress(bars=False).task("rows", total=2) as advance:
        advance(1)
        advance(1)
    first, second = capsys.readouterr().err.splitlines()[:2]
    assert first.startswith("rows: 1/2, about ")
    assert second == "rows: 2/2"


@pytest.mark.parametrize(
    ("total", "said"),
    [(4, "1/4, about 45 s left"), (81, "1/81, about 20 min left"), (801, "about 3.3 h left")],
)
def test_a_plain_line_says_how_long_the_rest_will_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, total: int, said: str
) -> None:
    clock = iter([0.0, 15.0, 15.0, 15.0])  # a unit takes 15 s
    monkeypatch.setattr("adamroute.progress.time.monotonic", lambda: next(clock))
    with progress.TerminalProgress(bars=False).task("rows", total=total) as advance:
        advance(1)
    assert said in capsys.readouterr().err.splitlines()[0]
