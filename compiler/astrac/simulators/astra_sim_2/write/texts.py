"""Machine and groups -> the texts of network.yml, system.json, memory.json, comm_groups.json and run.sh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.bundle import json_text
from astrac.job import IMPLEMENTED
from astrac.simulators import templates
from astrac.simulators.astra_sim_2 import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.job import Machine, RemoteMemory

_FOLDER = "astra_sim_2"


def render_network(machine: Machine) -> str:
    """The text of network.yml: one entry a dimension in each list, innermost first."""
    return templates.render(_FOLDER, "network.yml", npus=machine.npus, dimensions=machine.dimensions)


def render_system(machine: Machine) -> str:
    """system.json: switches as 0 and 1 (`false` would switch them on), lists with a word for every dimension."""
    scalars = {key: _number(getattr(machine, attribute)) for key, attribute in keys.SYSTEM_KEYS.items()}
    lists = {
        keys.IMPLEMENTATION_KEYS[kind]: machine.algorithms[kind] for kind in IMPLEMENTED if kind in machine.algorithms
    }
    return json_text({key: value for key, value in (scalars | lists).items() if value is not None})


def render_memory(memory: RemoteMemory) -> str:
    """memory.json; only the keys that its type makes the simulator read."""
    wanted = keys.memory_attributes(memory.type)
    values = {key: getattr(memory, attribute) for key, attribute in keys.MEMORY_KEYS.items() if attribute in wanted}
    return json_text(values | {"memory-type": memory.type.value})


def render_groups(ids: Mapping[tuple[int, ...], int]) -> str:
    """comm_groups.json: members by id, in the order of ids."""
    return json_text({str(number): members for members, number in sorted(ids.items(), key=lambda item: item[1])})


def render_script(machine: Machine, arguments: tuple[str, ...], cycles: int | None) -> str:
    """run.sh; `cycles` is the estimate."""
    return templates.render(_FOLDER, "run.sh", npus=machine.npus, arguments=arguments, cycles=cycles)


def _number(value: str | float | None) -> str | float | None:
    """Switches become 0 and 1, whole doubles lose their fraction; the simulator reads the same number."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value
