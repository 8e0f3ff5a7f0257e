"""The description of the endpoints names what the server has, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema
import pytest

from kokoro_server import requests
from kokoro_server.app import Options
from kokoro_server.errors import RequestError
from kokoro_server.openapi import SCHEMAS, document
from kokoro_server.requests import read_request, read_text
from tests.support.fakes.speech_server import VOICES, FakeBundle, Running, serving
from tests.support.paths import ROOT

SPOKEN = {"SpeechRequest": "input", "CaptionsRequest": "input", "PhonemesRequest": "phonemes"}
FIELDS = [(schema, name) for schema in (*SPOKEN, "TextRequest") for name in SCHEMAS[schema]["properties"]]


def read(schema: str, fields: dict[str, Any]) -> None:
    content = json.dumps(fields).encode()
    if schema == "TextRequest":
        read_text(content)
    else:
        read_request(content, VOICES, phonemes=schema == "PhonemesRequest")


def of_another_type(schema: dict[str, Any]) -> Any:
    return next(
        value for value in ([], 7, "x") if not jsonschema.Draft202012Validator(schema).is_valid(value)
    )


@pytest.mark.parametrize(("schema", "name"), FIELDS)
def test_every_field_is_read_and_of_its_type(schema: str, name: str) -> None:
    described = SCHEMAS[schema]
    fields = {described["required"][0]: "abc"}
    read(schema, fields)
    if "default" in described["properties"][name]:
        read(schema, fields | {name: described["properties"][name]["default"]})
    with pytest.raises(RequestError) as refused:
        read(schema, fields | {name: of_another_type(described["properties"][name])})
    assert refused.value.parameter in (name, "model")


def test_no_field_that_is_read_is_missing() -> None:
    source = (ROOT / "kokoro_server/requests.py").read_text("utf-8")
    named = set(re.findall(r'(?:_field|_choice)\(\s*fields, "(\w+)"', source))
    assert len(named) > 15
    assert named <= {name for _, name in FIELDS}
    table = (ROOT / "docs/server.md").read_text("utf-8")
    assert all(f"`{name}`" in table for _, name in FIELDS if name != "language")


def test_every_endpoint_is_described(server: Running) -> None:
    found = httpx.get(f"{server.url}/openapi.json").json()
    assert found == document(with_key=False)
    for schema in found["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found["paths"])))
    assert references == set(SCHEMAS)
    for path, operations in found["paths"].items():
        (method,) = operations
        answer = httpx.request(method, f"{server.url}{path.replace('{name}', 'kokoro')}", content="{}")
        assert answer.status_code == (400 if method == "post" else 200), path
        if answer.status_code == 400:
            jsonschema.validate(answer.json(), SCHEMAS["Error"])


def test_the_description_needs_no_key_and_asks_for_it() -> None:
    with serving(FakeBundle(), Options(api_key="secret")) as server:
        assert httpx.get(f"{server.url}/openapi.json").json()["security"] == [{"key": []}]
        page = httpx.get(f"{server.url}/docs")
        assert "script-src 'none'" in page.headers["content-security-policy"]
        assert all(f"<code>{name}</code>" in page.text for _, name in FIELDS)
        assert httpx.get(f"{server.url}/v1/audio/voices").status_code == 401


def test_models_are_those_that_are_accepted() -> None:
    for model in SCHEMAS["SpeechRequest"]["properties"]["model"]["enum"]:
        requests.check_model(model)
