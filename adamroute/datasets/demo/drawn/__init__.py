"""How each product type of the demo shop is drawn, given its shape and its detail."""

from __future__ import annotations

from collections.abc import Callable

from adamroute.datasets.demo.drawn import carried, clothes, footwear, home, textiles, worn
from adamroute.datasets.demo.studio import Pen

DRAW: dict[str, Callable[[Pen, str, str], None]] = {
    "sneakers": footwear.sneaker,
    "boots": footwear.boot,
    "t-shirt": clothes.t_shirt,
    "dress": clothes.dress,
    "hat": clothes.hat,
    "sunglasses": worn.sunglasses,
    "watch": worn.watch,
    "headphones": worn.headphones,
    "backpack": carried.backpack,
    "suitcase": carried.suitcase,
    "umbrella": carried.umbrella,
    "bottle": carried.bottle,
    "mug": home.mug,
    "lamp": home.lamp,
    "chair": home.chair,
    "plant pot": home.plant_pot,
    "rug": textiles.rug,
    "cushion": textiles.cushion,
}
