"""The file formats `kvbound-instance` and `kvbound-schedule`, version 1, as strict pydantic models.

The JSON Schemas in `docs/schemas/` are written from here: `python -m kvbound.instances.schema docs/schemas`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvbound.models.errors import InputError
from kvbound.models.fleet import MAX_MEMORY, NO_CAP
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS

Model = TypeVar("Model", bound=BaseModel)
_Prompt = Annotated[int, Field(ge=0, le=MAX_TOKENS)]
_Output = Annotated[int, Field(ge=1, le=MAX_TOKENS)]
_Step = Annotated[int, Field(ge=0, le=MAX_ARRIVAL)]
_Start = Annotated[int, Field(ge=0, le=2 * MAX_ARRIVAL)]
_Worker = Annotated[int, Field(ge=0, lt=2**31)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RequestColumns(_Strict):
    """The requests, one list per field; request j is the j-th entry of each list."""

    prompt: list[_Prompt] = Field(min_length=1, description="Prompt (prefill) tokens.")
    output: list[_Output] = Field(min_length=1, description="Output (decode) tokens.")
    arrival: list[_Step] | None = Field(
        default=None, description="First step at whose end a request may start; null is a backlog: all 0."
    )
    predicted_low: list[_Output] | None = Field(default=None, description="Lower ends of the predicted outputs.")
    predicted_high: list[_Output] | None = Field(default=None, description="Upper ends of the predicted outputs.")
    predicted: list[_Output] | None = Field(
        default=None, description="One predicted value within each interval; null is its middle."
    )


class InstanceFile(_Strict):
    """One scheduling problem: requests, workers, objective."""

    format: Literal["kvbound-instance"]
    schema_version: Literal[1]
    name: str
    origin: str | None = Field(default=None, description="Where the requests come from.")
    objective: Literal["tel"] = Field(default="tel", description="Total end-to-end latency, every request served.")
    memory: list[Annotated[int, Field(ge=1, le=MAX_MEMORY)]] = Field(
        min_length=1, description="KV memory of each worker, in tokens."
    )
    batch: list[Annotated[int, Field(ge=1, lt=NO_CAP)] | None] | None = Field(
        default=None, description="Batch size of each worker; null is no cap."
    )
    requests: RequestColumns


class ScheduleFile(_Strict):
    """A start step (and worker) for each request of one instance."""

    format: Literal["kvbound-schedule"]
    schema_version: Literal[1]
    fingerprint: str = Field(description="SHA-256 of the instance that the schedule is for.")
    instance: str | None = Field(default=None, description="Name of the instance, for people.")
    policy: str | None = Field(default=None, description="Who made the schedule.")
    tel: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Total end-to-end latency in steps; checked on reading."
    )
    starts: list[_Start | None] = Field(description="Step k: active in k+1 .. k+output; null: not served.")
    workers: list[_Worker | None] | None = Field(
        default=None, description="Worker of each request, from 0; null for the whole list: all on worker 0."
    )


#: Published schemas by file name.
SCHEMAS: dict[str, type[BaseModel]] = {
    "kvbound-instance.schema.json": InstanceFile,
    "kvbound-schedule.schema.json": ScheduleFile,
}


def schema_text(model: type[BaseModel]) -> str:
    """Return the JSON Schema of a file format as it stands in `docs/schemas/`."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def parse(model: type[Model], text: str, path: str) -> Model:
    """Return `text` as `model`, or raise `InputError` naming the file, the place and the value."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        if first["type"] == "json_invalid":
            reason = first["msg"].removeprefix("Invalid JSON: ")
            raise InputError(f"{path}: not valid JSON ({reason}); is the file cut off?") from None
        value = first["input"]
        shown = "" if first["type"] == "missing" or isinstance(value, (dict, list)) else f" ({value!r:.60})"
        more = f" ({error.error_count() - 1} more error(s))" if error.error_count() > 1 else ""
        raise InputError(f"{path}: {where}{shown}: {first['msg']}{more}; see the JSON Schema in docs/schemas") from None


def main(folder: Path) -> None:
    """Write the published schemas into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in SCHEMAS.items():
        (folder / name).write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
