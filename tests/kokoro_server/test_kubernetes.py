"""The manifest for Kubernetes is what its schemas allow, and fits the image and the server's options."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml

from kokoro_server.__main__ import _parser
from tests.support.paths import ROOT

DOCUMENTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((ROOT / "examples/kubernetes.yaml").read_text("utf-8"))
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each["kind"])
def test_each_document_is_of_its_schema(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.30", strict=True)


def test_it_fits_the_server() -> None:
    pods = DOCUMENTS[0]["spec"]["template"]
    (container,) = pods["spec"]["containers"]
    options = _parser().parse_args(["/bundle", "--host", "0.0.0.0", *container["args"]])
    assert container["ports"] == [{"name": "http", "containerPort": options.port}]
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][-1].rpartition("(")[2].rstrip(")"))
    assert pause + options.grace < pods["spec"]["terminationGracePeriodSeconds"]
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    assert probes == [{"path": "/health", "port": "http"}] * 3
    assert f"USER {pods['spec']['securityContext']['runAsUser']}" in (ROOT / "Dockerfile").read_text("utf-8")
    assert DOCUMENTS[1]["spec"]["selector"] == DOCUMENTS[0]["spec"]["selector"]["matchLabels"]
