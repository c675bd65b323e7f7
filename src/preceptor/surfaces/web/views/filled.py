"""A form that someone has filled in: what stands in it, what is wrong with it, and what others made of it meanwhile."""

from collections.abc import Mapping

import msgspec

from preceptor.domain.errors import PreceptorError


class Filled(msgspec.Struct, frozen=True):
    """By the name of a field, as the API has it."""

    fields: Mapping[str, str]
    wrong: Mapping[str, PreceptorError] = {}
    meanwhile: Mapping[str, str] = {}

    def opens(self, group: str) -> bool:
        """Whether something is said of a field in there that must not be overlooked."""
        return any(name.startswith(f"{group}.") for name in (*self.wrong, *self.meanwhile))

    def with_faults(self, faults: Mapping[str, PreceptorError]) -> "Filled":
        """Each complaint at the field it is about, also where it is about one word of many."""
        wrong: dict[str, PreceptorError] = {}
        for place, fault in faults.items():
            name = place
            while name not in self.fields and "." in name:
                name = name.rpartition(".")[0]
            wrong.setdefault(name, fault)
        return msgspec.structs.replace(self, wrong=wrong)
