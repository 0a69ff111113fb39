import os
import re

from adamroute.hardware import machine


def test_a_machine_is_named_by_cores_processor_and_memory() -> None:
    assert re.fullmatch(rf"{os.cpu_count()} x .+, [1-9]\d* GiB", machine())
