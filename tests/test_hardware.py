import os
import re

from adamroute.hardware import is_here, machine


def test_a_machine_is_named_by_cores_processor_and_memory() -> None:
    assert re.fullmatch(rf"{os.cpu_count()} x .+, [1-9]\d* GiB", machine())


def test_what_is_here_is_known_without_asking() -> None:
    assert all(map(is_here, ("http://127.0.0.1:8000", "http://localhost/v1", "http://[::1]:8")))
    assert not any(
        map(is_here, ("http://10.0.0.1", "http://shop.example", "nonsense", "http://["))
    )
