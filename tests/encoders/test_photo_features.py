"""Photo features: what is read from a photo, and what happens without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from adamroute.encoders.colours import NAMED, colour_features
from adamroute.encoders.photo_features import (
    DIMENSIONS,
    LEVEL_DIMENSIONS,
    NETWORK_DIMENSIONS,
    SIDE,
    load_network,
    network_features,
    photo_features,
    read_photo,
)
from adamroute.progress import SILENT
from tests.catalogue.pictures import WHITE, cut_out


def drawn(path: Path, size: tuple[int, int], colour: str | tuple[int, ...]) -> Path:
    mode = "RGBA" if isinstance(colour, tuple) and len(colour) == 4 else "RGB"
    Image.new(mode, size, colour).save(path)
    return path


def test_a_photo_is_fitted_into_a_white_square(tmp_path: Path) -> None:
    pixels, ground = read_photo(drawn(tmp_path / "wide.png", (64, 32), "blue"))
    assert ground == 255
    assert pixels.shape == (SIDE, SIDE, 3)
    assert pixels[SIDE // 2, SIDE // 2].tolist() == [0, 0, 255]
    assert pixels[0, 0].tolist() == pixels[-1, -1].tolist() == [255, 255, 255]
    assert (pixels == (0, 0, 255)).all(axis=2).any(axis=1).sum() == SIDE // 2  # rows of the photo


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels, _ = read_photo(drawn(tmp_path / "clear.png", (8, 8), (10, 200, 10, 0)))
    assert (pixels == 255).all()


def test_a_white_object_on_nothing_keeps_its_outline_and_its_colour(tmp_path: Path) -> None:
    cut_out(WHITE).resize((96, 48)).save(tmp_path / "white.png")
    pixels, ground = read_photo(tmp_path / "white.png")
    assert ground == 64
    assert pixels[0, 0].tolist() == [64, 64, 64]  # the square around the photo is ground too
    assert pixels[SIDE // 2, SIDE // 2].tolist() == [255, 255, 255]
    white = list(NAMED).index("white")
    shares = np.square(colour_features(pixels, ground)[: len(NAMED)])
    assert shares.argmax() == white
    assert shares[list(NAMED).index("dark grey")] < 0.05  # its ground is no part of it


def test_features_depend_on_the_photo_alone_and_unreadable_ones_are_nan(tmp_path: Path) -> None:
    def computed(*paths: Path) -> NDArray[np.float32]:
        return np.concatenate(list(photo_features(paths, SILENT)))

    red = drawn(tmp_path / "red.png", (32, 32), "red")
    blue = drawn(tmp_path / "blue.png", (300, 200), "blue")
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff not a photo")
    features = computed(red, blue, broken, red)
    assert features.shape == (4, DIMENSIONS)
    assert features.dtype == np.float32
    assert np.isnan(features).all(axis=1).tolist() == [False, False, True, False]
    assert features[0].tobytes() == features[3].tobytes()
    pixels, _ = read_photo(red)
    assert features[0, NETWORK_DIMENSIONS:].tobytes() == colour_features(pixels).tobytes()
    assert computed(red)[0].tobytes() == features[0].tobytes()


def test_levels_are_means_and_deviations_of_the_networks_inner_maps() -> None:
    network = load_network()
    pixels = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8)
    features = network_features(network, pixels)
    assert features.shape == (NETWORK_DIMENSIONS,) == (1280 + LEVEL_DIMENSIONS,)
    batch = torch.from_numpy(pixels.transpose(2, 0, 1)[None].astype(np.float32))
    with torch.inference_mode():
        maps = network._conv_stem((batch - 127.0) / 128.0)  # type: ignore[operator]
        maps = network._swish(network._bn0(maps))  # type: ignore[operator]
        for block in network._blocks[:3]:  # type: ignore[index]
            maps = block(maps)
    np.testing.assert_allclose(features[1280:1304], maps.mean((2, 3))[0].numpy(), atol=1e-4)
    np.testing.assert_allclose(
        features[1304:1328], maps.std((2, 3), correction=0)[0].numpy(), atol=1e-4
    )
    # Nothing is left behind in the network: a second call sees each level once.
    assert network_features(network, pixels).tobytes() == features.tobytes()
