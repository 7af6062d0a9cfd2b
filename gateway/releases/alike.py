"""Parts that many sheets have alike are kept once: the same tables, keys and prices come again and again."""

from dataclasses import replace
from typing import TypeVar, cast

from gateway.overlap.ground import Ground, GroupKey
from gateway.overlap.regions import Box, Region
from gateway.releases.sheets import Sheet

Part = TypeVar("Part")


class Alike:
    """Not safe among threads by itself. What is handed out is equal to what came in."""

    def __init__(self) -> None:
        self._parts: dict[object, object] = {}

    def sheet(self, sheet: Sheet) -> Sheet:
        """The same sheet, made of parts that others have, too."""
        return replace(
            sheet,
            ground=self.ground(sheet.ground),
            bounding=self.part(sheet.bounding),
            slots=self.part(tuple(map(self.part, sheet.slots))),
            choices=self.part(tuple(map(self.part, sheet.choices))),
            asked_at=self.part(sheet.asked_at),
            touched=self.part(sheet.touched),
        )

    def ground(self, ground: Ground) -> Ground:
        region = ground.region
        boxes = tuple(self._box(one) for one in region.boxes)
        return replace(
            ground,
            shape=self.part(ground.shape),
            tables=self.part(ground.tables),
            region=self.part(Region(self.part(region.axes), boxes)),
            keys=tuple(map(self._key, ground.keys)),
            unreadable=self.part(ground.unreadable),
        )

    def part(self, part: Part) -> Part:
        return cast("Part", self._parts.setdefault((type(part), part), part))

    def _key(self, key: GroupKey) -> GroupKey:
        """Values of different types may be equal, such as 1 and true; what is handed out has the types that came in."""
        types = tuple(map(type, key.values or ()))
        return cast("GroupKey", self._parts.setdefault((types, key), key))

    def _box(self, box: Box) -> Box:
        return Box(tuple((self.part(name), self.part(cells)) for name, cells in box.parts))
