"""A made-up checkpoint of the full architecture that behaves like the real one.

Every value comes from a Philox counter keyed by the tensor's name, through integer and correctly rounded
float32 arithmetic only, so the file is the same on every machine. `GAINS` scales each family of tensors,
and two things are built into the random weights on purpose: `_shape_durations` gives durations the real
model's distribution, and `_shape_curve` makes F0 and N switch between two plateaus as speech does between
voiced and unvoiced.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from exporter import directories
from exporter.compiler.kokoro_model import build_model
from exporter.model.config import PARTS, Config, read_config

SEED = 82


@dataclass(frozen=True)
class Gain:
    """The distribution of tensors whose name matches a pattern: uniform around `mean`."""

    pattern: str
    """Regular expression, searched in ``part.name``."""
    gain: float
    """Standard deviation of a sum over the fan-in of unit inputs (weights), or of the entry (the others)."""
    mean: float = 0.0


# The first match counts.
GAINS = (
    # weight_norm: g alone sets the scale of a row, so v is left at 1.
    Gain(r"weight_v$", 1.0),
    # AdaIN and AdaLayerNorm: a voice's style (RMS 0.19) moves gamma and beta by about a fifth of this gain.
    Gain(r"lstms\.\d\.fc\.weight$", 0.3),
    Gain(r"(norm\d|adain\d\.\d)\.fc\.weight$", 1.0),
    Gain(r"\.fc\.bias$", 0.1),
    # Instance norms' own scale and shift: the official file has none, fine-tunes may; here they must matter.
    Gain(r"(norm\d|adain\d\.\d)\.norm\.weight$", 0.1, mean=1.0),
    Gain(r"(norm\d|adain\d\.\d)\.norm\.bias$", 0.1),
    Gain(r"(LayerNorm|layer_norm)\.weight$|\.gamma$", 0.1, mean=1.0),
    # ALBERT adds its biases 24 times: larger ones become what all tokens share, and rounding grows with it.
    Gain(r"(LayerNorm|layer_norm|attention\.dense|ffn_output)\.bias$", 0.01),
    Gain(r"\.beta$", 0.1),
    # Snake's frequency.
    Gain(r"\.alpha\d\.\d$", 0.2, mean=1.0),
    # ALBERT runs the same layer 12 times: strong attention, but a residual that keeps tokens apart.
    Gain(r"word_embeddings\.weight$", 1.0),
    Gain(r"position_embeddings\.weight$", 0.5),
    Gain(r"token_type_embeddings\.weight$", 0.1),
    Gain(r"attention\.(query|key)\.weight$", 1.2),
    Gain(r"attention\.value\.weight$", 0.25),
    Gain(r"attention\.dense\.weight$", 0.4),
    Gain(r"ffn(_output)?\.weight$", 0.5),
    Gain(r"text_encoder\.embedding\.weight$", 1.0),
    # The text's recurrent layer gives the scale of the recorded asr; the prosody's five stay where they are
    # nearly linear, or rounding grows from layer to layer.
    Gain(r"text_encoder\.lstm\.weight_ih", 1.5),
    Gain(r"\.weight_ih", 0.5),
    Gain(r"\.weight_hh", 0.5),
    # F0 in Hz and N in log energy come down to about 1.
    Gain(r"F0_conv\.weight_g$", 1 / 150),
    Gain(r"N_conv\.weight_g$", 1 / 6),
    # The source branch: with 0.006 another noise seed changes the audio by 9 to 10 %.
    Gain(r"noise_convs\.\d\.weight$", 0.0066),
    Gain(r"noise_convs\.\d\.bias$", 0.0003),
    Gain(r"noise_res\.\d\.convs2\.\d\.weight_g$", 0.0066),
    Gain(r"noise_res\.\d\.convs2\.\d\.bias$", 0.0003),
    # Residual branches add a little each, or 18 of them drown the trunk.
    Gain(r"resblocks\.\d\.convs2\.\d\.weight_g$", 0.3),
    Gain(r"conv_post\.weight_g$", 2.0),
    Gain(r"bias", 0.05),
    Gain(r"weight", 1.0),
)

# m_source.l_linear of the official checkpoint: its signs and sizes decide how harmonics add up.
SOURCE_WEIGHT = (
    -0.08154187, -0.18519667, -0.18263398, -0.17837205, -0.09873895,
    0.08264039, 0.08743999, -0.39068547, -0.54774433,
)  # fmt: skip
SOURCE_BIAS = -0.02945026
# conv_post's first 11 channels are log magnitudes: this level gives an RMS of 0.05 to 0.07.
LOG_MAGNITUDE = -0.92


def file_name(config_path: Path) -> str:
    """Returns the name of the file, which has a digest of this recipe and of the configuration."""
    recipe = hashlib.sha256(Path(__file__).read_bytes() + config_path.read_bytes())
    return f"synthetic-{recipe.hexdigest()[:16]}.pth"


def ensure_file(config_path: Path, cache: Path | None = None) -> Path:
    """Returns the synthetic checkpoint for a configuration, made first if the cache has none."""
    config = read_config(config_path)
    path = (cache or directories.cache()) / file_name(config_path)
    directories.make_private(path.parent)
    if not path.is_file():
        with directories.temporary(".synthetic-", path.parent) as staging:
            # torch.save puts the file's name into the file, whose digest must depend on the values alone.
            staged = staging / "synthetic.pth"
            torch.save(make_states(config), staged)
            staged.replace(path)
    return path


def make_states(config: Config) -> dict[str, dict[str, torch.Tensor]]:
    """Draws every tensor of a checkpoint: five state dicts of float32 whose names begin with ``module.``."""
    with torch.device("meta"):
        model = build_model(config)
    states = {part: _draw_part(part, getattr(model, part)) for part in PARTS}
    _quieten_style(states["predictor"], config["hidden_dim"])
    _shape_memory(states["predictor"])
    _shape_durations(states["predictor"])
    _smooth_curves(states["predictor"])
    _shape_curve(states["predictor"], "F0", F0_CURVE)
    _shape_curve(states["predictor"], "N", N_CURVE)
    _shape_source(states["decoder"])
    return {
        part: {f"module.{name}": torch.from_numpy(value) for name, value in state.items()}
        for part, state in states.items()
    }


def uniform(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draws float32 numbers from -1 to 1 for a name, the same on every machine.

    Philox' raw stream is frozen by numpy's policy; 24 of every 32 bits become a float32 without rounding.
    """
    key = int.from_bytes(hashlib.sha256(f"{SEED}/{name}".encode()).digest()[:16], "little")
    count = math.prod(shape)
    raw = np.random.Philox(key=key).random_raw((count + 1) // 2).astype("<u8").view("<u4")[:count]
    return ((raw >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)).reshape(shape)


def _draw_part(part: str, module: torch.nn.Module) -> dict[str, np.ndarray]:
    """Draws every tensor of one part by `GAINS`."""
    state = {}
    for owner_name, owner in module.named_modules():
        for name, parameter in owner.named_parameters(recurse=False):
            full = f"{owner_name}.{name}".lstrip(".")
            gain = next(entry for entry in GAINS if re.search(entry.pattern, f"{part}.{full}"))
            state[full] = _draw(f"{part}.{full}", tuple(parameter.shape), gain, owner)
    return state


def _draw(name: str, shape: tuple[int, ...], gain: Gain, owner: torch.nn.Module) -> np.ndarray:
    values = uniform(name, shape)
    if name.endswith("weight_g"):
        return np.float32(gain.gain * _norm_over_gain(owner)) * (1 + np.float32(0.2) * values)
    sums = len(shape) > 1 and not isinstance(owner, torch.nn.Embedding | torch.nn.ParameterList)
    fan_in = math.prod(shape[1:]) if sums else 1
    return np.float32(gain.mean) + np.float32(gain.gain * math.sqrt(3 / fan_in)) * values


def _norm_over_gain(owner: torch.nn.Module) -> float:
    """Returns the norm of a weight's row with which a unit-variance signal keeps unit variance."""
    if not isinstance(owner, torch.nn.ConvTranspose1d):
        return 1.0
    # The rows of a transposed convolution are its inputs; an output hears kernel / stride taps of each.
    taps = owner.kernel_size[0]
    row = owner.out_channels // owner.groups * taps
    return math.sqrt(row / (owner.in_channels // owner.groups * taps / owner.stride[0]))


def _quieten_style(predictor: dict[str, np.ndarray], hidden: int) -> None:
    """Reduces the style in the duration encoder: it enters every layer and would drown the text."""
    for name, weight in predictor.items():
        if re.match(r"text_encoder\.lstms\.\d\.weight_ih", name):
            weight[:, hidden:] *= np.float32(0.25)


def _shape_memory(predictor: dict[str, np.ndarray]) -> None:
    """Shifts the forget gates: the curves' layer remembers syllables, the durations' mostly one token."""
    for name, bias in predictor.items():
        if re.search(r"bias_ih_l0(_reverse)?$", name):
            hidden = len(bias) // 4
            bias[hidden : 2 * hidden] += np.float32(1.5 if name.startswith("shared") else -1.5)


def _smooth_curves(predictor: dict[str, np.ndarray]) -> None:
    """Makes F0's and N's convolutions nearly average over time, and their upsampling interpolate."""
    for name, taps in predictor.items():
        if re.match(r"(F0|N)\.\d\.conv[12]\.weight_v", name):
            taps *= np.float32(0.3)
            taps += taps[:, :, 1:2] * np.float32(3)
        elif re.match(r"(F0|N)\.\d\.pool\.weight_v", name):
            taps *= np.float32(0.1)
            taps += np.array((0.5, 1.0, 0.5), np.float32)


# The token's latent length is the LSTM's output in one random direction. Of the fifty that the projection's
# rows offer, English sentences and random phonemes, all voices and all lengths agree best in this one; the
# other two numbers, measured once, scale it to mean 0 and variance 1.
LENGTH_DIRECTION = 15
LENGTH_GAIN = 13.2
LENGTH_OFFSET = 1.0
# From the k-th of these on a token lasts k frames: quantiles of the durations recorded from the real model.
LASTS = (
    -2.58, -1.04, 0.25, 0.84, 1.23, 1.51, 1.75, 1.96, 2.17, 2.33, 2.46, 2.58, 2.75, 2.88,
)  # fmt: skip
LENGTH_SHARPNESS = 6.0


def _shape_durations(predictor: dict[str, np.ndarray]) -> None:
    """Makes the sum of the projection's sigmoids a staircase over the token's latent length."""
    weight = predictor["duration_proj.linear_layer.weight"]
    bias = predictor["duration_proj.linear_layer.bias"]
    direction = weight[LENGTH_DIRECTION % len(weight)] * np.float32(LENGTH_GAIN)
    beyond = [LASTS[-1] + 0.4 * (k + 1) for k in range(max(0, len(bias) - len(LASTS)))]
    thresholds = np.array([*LASTS, *beyond][: len(bias)], np.float32)
    weight[:] = np.float32(LENGTH_SHARPNESS) * (direction + np.float32(0.3) * weight)
    bias[:] = np.float32(LENGTH_SHARPNESS) * (np.float32(LENGTH_OFFSET) - thresholds)


@dataclass(frozen=True)
class Curve:
    """A switch between two plateaus, driven by one normalised channel of a predictor's last block."""

    low: float
    """Level below the switch."""
    high: float
    """Level just above the switch."""
    slope: float
    """Rise above the switch for each standard deviation of the driving channel."""
    share: float
    """Position of the switch, in standard deviations below the mean."""
    half_width: float
    """Half of the switch's width in standard deviations."""
    voice: float
    """Shift of the upper level for a unit of style."""


# Hz: unvoiced is slightly negative, voiced above 80.
F0_CURVE = Curve(low=-1.0, high=150.0, slope=45.0, share=0.1, half_width=0.2, voice=80.0)
# Log energy: silence near -9, speech near 7.
N_CURVE = Curve(low=-8.0, high=5.5, slope=0.7, share=0.5, half_width=0.5, voice=1.0)


def _shape_curve(predictor: dict[str, np.ndarray], name: str, curve: Curve) -> None:
    """Builds a curve into the last block of F0 or N, as a sum of leaky ReLUs of one normalised channel.

    With L the leaky ReLU of slope 0.2, v the channel plus `share`, t `half_width` and s the voice's shift:
    a L(v+t+s) - b L(v-t) + c L(-v-t) - 0.2 a s is flat below -t and has the wanted slope above t; a, b and c
    follow from the three slopes. The last term is a channel that does not vary over time; it also carries the
    constant that puts the flat part at `low`, so that no large numbers cancel there.
    """
    drop = curve.slope / 0.96
    rise = (curve.high - curve.low) / (2 * curve.half_width)
    a = (rise - 0.16 * drop) / 0.8
    b, c = a - drop, 0.2 * drop
    block = {
        name_in_block.removeprefix(f"{name}.2."): tensor
        for name_in_block, tensor in predictor.items()
        if name_in_block.startswith(f"{name}.2.")
    }
    t = curve.half_width
    _shape_knees(
        block, curve, voice=curve.voice / a, constant=(0.2 * (a + b) * t - c * t - curve.low) / (0.2 * a)
    )
    row = block["conv2.weight_v"][0]
    row *= np.float32(0.2 / math.sqrt(row.size))
    row[:4] = 0
    row[:4, 1] = (a, -b, c, -0.2 * a)
    block["conv2.weight_g"][0] = math.sqrt(math.fsum(np.square(row, dtype=np.float64).flat))
    block["conv2.bias"][0] = 0
    projection = predictor[f"{name}_proj.weight"]
    projection *= np.float32(0.3)
    projection[0, 0] = math.sqrt(2)  # undoes the block's 1 / sqrt(2)


def _shape_knees(block: dict[str, np.ndarray], curve: Curve, voice: float, constant: float) -> None:
    """Makes channels 0 to 3 the arguments of the leaky ReLUs: v+t+s, v-t, -v-t, and s plus a constant."""
    weight, gain = block["conv1.weight_v"], block["conv1.weight_g"]
    weight[1], weight[2], gain[1:3] = weight[0], -weight[0], gain[0]
    t, share = curve.half_width, curve.share
    block["norm2.norm.weight"][:4] = (1, 1, 1, 0)
    block["norm2.norm.bias"][:4] = (share + t, share - t, -share - t, constant)
    channels = len(block["norm2.norm.weight"])
    for style in (block["norm2.fc.weight"], block["norm2.fc.bias"]):
        shift = style[channels] * np.float32(voice)
        for first in (0, channels):  # gamma, then beta
            style[first : first + 4] = 0
        style[channels] = style[channels + 3] = shift


def _shape_source(decoder: dict[str, np.ndarray]) -> None:
    """Takes the official harmonic mix, and sets the level of the audio."""
    decoder["generator.m_source.l_linear.weight"][0] = SOURCE_WEIGHT
    decoder["generator.m_source.l_linear.bias"][0] = SOURCE_BIAS
    magnitudes = len(decoder["generator.conv_post.bias"]) // 2
    decoder["generator.conv_post.bias"][:magnitudes] += np.float32(LOG_MAGNITUDE)
    decoder["generator.conv_post.weight_g"][:magnitudes] *= np.float32(0.7)  # or rare peaks would clip
