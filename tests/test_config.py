from pathlib import Path

import pytest

from adamroute.config import load_config
from adamroute.errors import ConfigError

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_config_of_the_project_loads(path: Path) -> None:
    assert load_config(path).name == path.stem


def test_a_shop_on_the_command_line_wins_and_turns_the_generator_off(tmp_path: Path) -> None:
    config = load_config(CONFIGS / "demo.yaml", shop=tmp_path, out=tmp_path / "out")
    assert config.shop == tmp_path
    assert config.demo is None
    assert config.stage("index") == tmp_path / "out" / "index"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nshop: s\nout: o\ntypo: 1", "typo: Extra inputs are not permitted"),
        ("name: x\nshop: s\nout: o\nrouting: {tau: 0}", "routing.tau: .*greater than or equal"),
        ("name: ../x\nshop: s\nout: o", "name: "),
        ("shop: s\nout: o", "name: Field required"),
        ("- a", "wanted a mapping"),
        ("a: [", "cannot be read as YAML"),
        ("a: \xff", "cannot be read as YAML"),
    ],
)
def test_a_wrong_config_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def test_a_missing_config_lists_those_at_hand(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Configs at hand"):
        load_config(tmp_path / "none.yaml")
