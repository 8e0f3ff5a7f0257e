"""The stages as torch modules compute what kokoro's own modules compute, before anything is compiled."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from exporter.compiler.kernels import conv1d
from exporter.compiler.kokoro_model import model_without_weights
from exporter.compiler.stages import make_stage
from exporter.compiler.stages.audio import SourceDownsampler, Upsampler
from exporter.compiler.stages.layers import Conv, WinogradConv, effective_weight, layout_of, parameter
from exporter.compiler.stages.text import Bert
from exporter.model.checkpoint import Checkpoint
from exporter.model.config import OFFICIAL_CONFIG
from exporter.reference.traces import ReferenceTrace
from runtime_min.format.signatures import STAGE_NAMES, signatures, stage_names
from runtime_min.model.distances import snr
from tests.exporter.conftest import NOISE, STYLE, TOKENS

Stages = dict[str, nn.Module]


@pytest.fixture(scope="module")
def stages(loaded: Checkpoint) -> Stages:
    return {name: make_stage(name, loaded.model) for name in STAGE_NAMES}


@pytest.fixture(scope="module")
def separate_stages(loaded: Checkpoint) -> Stages:
    """The harmonic source is a stage of its own."""
    return {name: make_stage(name, loaded.model, separate_source=True) for name in stage_names(True)}


def inputs_of(name: str, trace: ReferenceTrace) -> list[Tensor]:
    """The arguments that kokoro's own computation gives a stage."""
    values = {name: torch.from_numpy(np.asarray(value)) for name, value in vars(trace).items()}
    values["token_ids"] = torch.from_numpy(TOKENS)[None]
    values["decoder_style"], values["prosody_style"] = torch.from_numpy(STYLE).split(128, dim=1)
    values["noise"] = torch.from_numpy(NOISE(trace.audio.size))[None]
    return [values[tensor.name] for tensor in signatures(512, 128)[name].inputs]


def outputs(name: str, stages: Stages, trace: ReferenceTrace) -> dict[str, Tensor]:
    """Outputs of a stage by the names of its signature."""
    with torch.no_grad():
        results = stages[name](*inputs_of(name, trace))
    results = results if isinstance(results, tuple) else (results,)
    names = [tensor.name for tensor in signatures(512, 128)[name].outputs]
    return dict(zip(names, results, strict=True))


# Both are float32 with sums in different orders, so that what is left is rounding: 24 bits are 144 dB. F0 and
# the decoder amplify it: the former by the memory of its LSTM, the latter by phases that wrap.
@pytest.mark.parametrize(
    ("name", "decibels"),
    [("bert", 115), ("duration", 110), ("text_encoder", 115), ("f0n", 90), ("decoder", 60)],
)
def test_a_stage_gives_what_kokoros_modules_give(
    name: str, decibels: float, stages: Stages, trace: ReferenceTrace
) -> None:
    for output, value in outputs(name, stages, trace).items():
        expected = getattr(trace, output)
        assert value.shape == expected.shape
        assert snr(value.numpy(), expected) >= decibels, output


def test_the_parts_of_the_decoder_are_kokoros(stages: Stages, trace: ReferenceTrace) -> None:
    decoder = stages["decoder"]
    asr, f0, energy, style, noise = inputs_of("decoder", trace)
    expected = np.concatenate([trace.magnitude, trace.phase], axis=1)
    with torch.no_grad():
        hidden = decoder.get_submodule("body")(asr, f0, energy, style)
        spectrum = decoder.get_submodule("source")(f0, noise).numpy()
        generator = decoder.get_submodule("generator")
        audio = generator(torch.from_numpy(trace.decoder_hidden), style, torch.from_numpy(expected))
    assert snr(hidden.numpy(), trace.decoder_hidden) >= 110
    assert snr(audio.numpy(), trace.audio) >= 90
    # Phases near -pi and pi are the same; what counts is where the spectrum points.
    for part in (np.cos, np.sin):
        points = spectrum[:, :11] * part(spectrum[:, 11:])
        assert snr(points, trace.magnitude * part(trace.phase)) >= 120


def test_a_separate_source_changes_nothing_but_rounding(
    separate_stages: Stages, trace: ReferenceTrace
) -> None:
    described = signatures(512, 128, separate_source=True)
    source, decoder = separate_stages["source"], separate_stages["decoder"]
    asr, f0, energy, style, noise = inputs_of("decoder", trace)
    with torch.no_grad():
        spectrum = source(f0, noise)
        audio = decoder(asr, f0, energy, style, spectrum)
    assert spectrum.shape == described["source"].outputs[0].concrete(asr.shape[2])
    assert snr(audio.numpy(), trace.audio) >= 60


def test_parameters_are_contiguous_float32_copies_of_the_checkpoint(
    loaded: Checkpoint, stages: Stages
) -> None:
    of_model = {value.data_ptr() for value in loaded.model.state_dict().values()}
    for stage in stages.values():
        assert not dict(stage.named_buffers())
        for name, value in stage.named_parameters():
            assert value.dtype == torch.float32 and value.is_contiguous(), name
            assert not value.requires_grad and value.data_ptr() not in of_model, name


def test_layouts_are_named_after_their_kernels_and_a_gpus_decoder_has_no_winograd(
    loaded: Checkpoint, stages: Stages
) -> None:
    direct = {"row-major", "conv[out/32,in,taps,32]"}
    assert {layout_of(value) for stage in stages.values() for value in stage.parameters()} == direct | {
        "lstm[direction,hidden/16,hidden,4*16]",
        "toom-cook-f(5,2)[out/32,6,in,32]",
        "toom-cook-f(6,3)[out/32,8,in,32]",
        "toom-cook-f(8,7)[out/32,15,in,32]",
        "toom-cook-f(14,11)[out/32,30,in,32]",
    }
    decoder = make_stage("decoder", loaded.model, separate_source=True)
    assert {layout_of(value) for value in decoder.parameters()} == direct
    assert not any(name.startswith("source.") for name, _ in decoder.named_parameters())


@pytest.mark.parametrize("separate_source", [False, True])
def test_stages_without_weights_have_the_parameters_of_those_with_weights(
    separate_source: bool, stages: Stages, separate_stages: Stages
) -> None:
    shapes = model_without_weights(OFFICIAL_CONFIG.read_text())
    for name, with_weights in (separate_stages if separate_source else stages).items():
        without = make_stage(name, shapes, separate_source)
        assert all(value.is_meta for value in without.parameters())
        expected, found = (
            [(name, value.shape, value.dtype, layout_of(value)) for name, value in stage.named_parameters()]
            for stage in (with_weights, without)
        )
        assert found == expected


def test_effective_weights_are_those_of_weight_norm() -> None:
    layer = torch.nn.utils.weight_norm(nn.Conv1d(3, 4, 5))
    with torch.no_grad():
        layer.weight_g.mul_(2)
        layer(torch.zeros(1, 3, 9))
    torch.testing.assert_close(effective_weight(layer), layer.weight.detach(), rtol=0, atol=0)
    plain = nn.Linear(3, 4)
    torch.testing.assert_close(effective_weight(plain), plain.weight.detach(), rtol=0, atol=0)


@pytest.mark.parametrize(("reads_last", "writes_last"), list(product([False, True], repeat=2)))
@pytest.mark.parametrize("out", [1, 8, 22])
def test_convolutions_and_linear_layers_keep_their_meaning(
    out: int, reads_last: bool, writes_last: bool
) -> None:
    x = torch.randn(1, 5, 20, generator=torch.Generator().manual_seed(out))
    layer, linear = nn.Conv1d(5, out, 3, padding=2, dilation=2), nn.Linear(5, out)
    with torch.no_grad():
        found = [
            Conv.of(module, reads_channels_last=reads_last, writes_channels_last=writes_last)(
                x.mT if reads_last else x
            )
            for module in (layer, linear)
        ]
        expected = layer(x), linear(x.transpose(1, 2)).transpose(1, 2)
    for result, wanted in zip(found, expected, strict=True):
        value = result.mT if writes_last else result
        assert value.shape[1] == conv1d.padded_channels(out)
        torch.testing.assert_close(value[:, :out], wanted, rtol=1e-5, atol=1e-6)
        assert not value[:, out:].any()


def upsampler(layer: nn.ConvTranspose1d) -> Upsampler:
    return Upsampler(layer, reflect=False, reads_channels_last=False)


DENSE = r"expected Linear or a dense Conv1d of stride 1, found \w+\("
WITH_BIAS = "expected a dense Conv1d of stride 1 with a bias, found Conv1d"
SAME_LENGTH = "expected a convolution that keeps the length, found Conv1d"
TWICE = "expected a kernel of twice the stride"


@pytest.mark.parametrize(
    ("make", "layer", "message"),
    [
        (Conv.of, nn.Conv1d(8, 8, 3, stride=2), DENSE),
        (Conv.of, nn.Conv1d(8, 8, 3, groups=2), DENSE),
        (Conv.of, nn.ConvTranspose1d(8, 8, 3), DENSE),
        (Conv.of, nn.Identity(), DENSE),
        (WinogradConv.of, nn.Conv1d(8, 8, 3, groups=2), WITH_BIAS),
        (WinogradConv.of, nn.Conv1d(8, 8, 3, bias=False), WITH_BIAS),
        (WinogradConv.of, nn.Conv1d(8, 8, 3, padding=1, stride=2), SAME_LENGTH),
        (WinogradConv.of, nn.Conv1d(8, 8, 3), SAME_LENGTH),
        (WinogradConv.of, nn.Conv1d(8, 8, 3, padding=2), SAME_LENGTH),
        (upsampler, nn.ConvTranspose1d(8, 8, 12, stride=5, padding=3), TWICE),
        (upsampler, nn.ConvTranspose1d(8, 8, 12, stride=6, padding=2), TWICE),
        (upsampler, nn.ConvTranspose1d(8, 8, 12, stride=6, padding=3, output_padding=1), TWICE),
        (SourceDownsampler, nn.Conv1d(8, 8, 12, stride=5, padding=3), TWICE),
        (SourceDownsampler, nn.Conv1d(8, 8, 12, stride=6, padding=2), TWICE),
    ],
)
def test_layers_that_no_kernel_computes_are_refused(
    make: Callable[[nn.Module], nn.Module], layer: nn.Module, message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make(layer)


@pytest.mark.parametrize(
    ("setting", "value"), [("num_hidden_groups", 2), ("inner_group_num", 2), ("hidden_act", "gelu")]
)
def test_other_kinds_of_albert_are_refused(
    setting: str, value: object, loaded: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded.model.bert.config, setting, value)
    with pytest.raises(ValueError, match="only ALBERT with one shared layer and gelu_new"):
        Bert(loaded.model)


def test_a_parameter_remembers_its_layout() -> None:
    value = torch.arange(6, dtype=torch.float64).reshape(2, 3).T
    assert layout_of(parameter(value)) == "row-major"
    marked = parameter(value, "somehow")
    assert layout_of(marked) == "somehow"
    torch.testing.assert_close(marked.data, value.float())
