"""Every error adamroute raises on purpose.

AdamrouteError
├── ConfigError        a YAML file or an option is wrong
├── ShopError          a shop folder cannot be read as it stands
│   └── PhotoDefectError  one photo cannot be used; `defect` is the name it is counted under
├── ArtifactError      a stage's folder is missing, half there, or made from other inputs
│   └── StoreError     the profile store's database is away, broke off, or cannot be read
├── InUseError         another command writes to the run's folder
├── RequestError       one request is wrong; `field` names the part of the body
│   └── PolicyError    the policy string is not one we know
├── ThetaError         alpha or budget out of range
├── ModelError         weights are missing or not what they should be
├── EngineError        a language model's engine cannot be used as configured
├── LabelError         label rows that cannot be used
└── ServingError       the server cannot answer this request now; the client may try again
    ├── BusyError      more requests than it takes at once, or a part of it is restarting
    └── DeadlineError  no answer within the time a request may take

A message says where, got, wanted, next step, and quotes data by `shown`.
"""

import reprlib

QUOTED = 60  # characters of a cell that a message may hold


class AdamrouteError(Exception):
    """Base of all errors raised on purpose; its text is fit for a user's eyes."""


class ConfigError(AdamrouteError):
    """A YAML file or a command-line option is wrong."""


class ShopError(AdamrouteError):
    """A shop folder cannot be read as it stands."""


class PhotoDefectError(ShopError):
    """One photo cannot be used."""

    def __init__(self, defect: str, message: str) -> None:
        super().__init__(message)
        self.defect = defect  # "unreadable_photos", or the name of a special case of it


class ArtifactError(AdamrouteError):
    """A stage's folder is missing, half there, or was made from other inputs."""


class StoreError(ArtifactError):
    """The profile store's database is away, broke off in the middle, or cannot be read."""


class InUseError(AdamrouteError):
    """Another command writes to the run's folder."""


class RequestError(AdamrouteError):
    """One request is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field  # the part of the request that is wrong, as in the HTTP body

    def __reduce__(self) -> tuple[type["RequestError"], tuple[str, str]]:
        return type(self), (self.field, str(self))  # crosses Ray's process border whole


class PolicyError(RequestError):
    """The policy string is not one we know."""


class ThetaError(AdamrouteError):
    """Alpha or budget out of range."""


class ModelError(AdamrouteError):
    """Weights are missing or not what they should be."""


class EngineError(AdamrouteError):
    """A language model's engine cannot be used as configured."""


class LabelError(AdamrouteError):
    """Label rows that cannot be used."""


class ServingError(AdamrouteError):
    """The server cannot answer this request now; the client may try again."""


class BusyError(ServingError):
    """More requests than the server takes at once, or a part of it is restarting."""


class DeadlineError(ServingError):
    """No answer within the time a request may take."""


def shown(value: object) -> str:
    """A value of someone's data as a message may quote it: its repr, cut at 60 characters.

    What is nested is not written out whole first: few lines of YAML can hold a billion values.
    """
    brief = reprlib.Repr()
    brief.maxlevel, brief.maxlist, brief.maxtuple, brief.maxdict, brief.maxset = 1, 3, 3, 3, 3
    if not isinstance(value, str):
        return brief.repr(value)[:QUOTED]
    return repr(value) if len(value) <= QUOTED else f"{value[:QUOTED]!r}..."
