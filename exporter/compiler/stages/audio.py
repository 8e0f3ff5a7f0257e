"""The stages along frames: `f0n`, and `decoder` with the harmonic source and the generator.

In shapes, m is the number of frames and n that of time steps where a layer stands.
"""

from typing import Any

import torch
from torch import Tensor, nn

from exporter.compiler import operators
from exporter.compiler.stages.layers import (
    AdaIN,
    BidirectionalLstm,
    Conv,
    ResidualBlock,
    WinogradConv,
    effective_weight,
    parameter,
)
from exporter.compiler.winograd_reference import phases_of


class F0N(nn.Module):
    """Shared LSTM and two stacks of blocks: aligned encoding [1, 640, m], style to F0 and N [1, 2 * m]."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        predictor = model.predictor
        self.shared = BidirectionalLstm(predictor.shared)
        self.f0_blocks = nn.ModuleList(ResidualBlock(block) for block in predictor.F0)
        self.energy_blocks = nn.ModuleList(ResidualBlock(block) for block in predictor.N)
        self.f0_project, self.energy_project = Conv.of(predictor.F0_proj), Conv.of(predictor.N_proj)

    def forward(self, aligned_encoding: Tensor, prosody_style: Tensor) -> tuple[Tensor, Tensor]:
        """Returns F0 in Hz, and kokoro's N."""
        f0 = energy = self.shared(aligned_encoding)
        for block in self.f0_blocks:
            f0 = block(f0, prosody_style)
        for block in self.energy_blocks:
            energy = block(energy, prosody_style)
        return self.f0_project(f0)[:, :1].squeeze(1), self.energy_project(energy)[:, :1].squeeze(1)


class Snake(nn.Module):
    """Snake's alpha and its inverse, [2, channels]."""

    def __init__(self, alpha: Tensor) -> None:
        super().__init__()
        flat = alpha.detach().reshape(-1)
        self.alpha = parameter(torch.stack([flat, 1 / flat]))


class GeneratorBlock(nn.Module):
    """kokoro's `AdaINResBlock1`: thrice AdaIN, Snake, convolution, AdaIN, Snake, convolution, residual."""

    def __init__(self, block: Any, winograd: bool) -> None:
        super().__init__()
        self.winograd = winograd
        convolution = WinogradConv.of if winograd else _direct
        self.convs1 = nn.ModuleList(map(convolution, block.convs1))
        self.convs2 = nn.ModuleList(map(convolution, block.convs2))
        self.norms1 = nn.ModuleList(AdaIN(norm, True, takes_statistics=True) for norm in block.adain1)
        self.norms2 = nn.ModuleList(AdaIN(norm, True, takes_statistics=True) for norm in block.adain2)
        self.snakes1 = nn.ModuleList(map(Snake, block.alpha1))
        self.snakes2 = nn.ModuleList(map(Snake, block.alpha2))

    def forward(self, x: Tensor, style: Tensor, other: Tensor | None = None, scale: float = 1.0) -> Tensor:
        """Maps [1, n, channels] to (block(x) + other) * scale."""
        last = len(self.convs1) - 1
        for index, conv1 in enumerate(self.convs1):
            h = conv1(x, self.norms1[index](x, style), self.snakes1[index].alpha)
            affine, alpha = self.norms2[index](h, style), self.snakes2[index].alpha
            added: dict[str, Any] = {"residual": x}
            if self.winograd:
                # Other blocks read the input as well; what this block made itself is overwritten.
                added["in_place"] = index > 0
            if index == last:
                added |= {"other": other, "scale": scale}
            x = self.convs2[index](h, affine, alpha, **added)
        return x


def _direct(conv: nn.Conv1d) -> Conv:
    """A convolution of a block for a GPU, which gains less from Winograd's few products than it costs."""
    return Conv.of(conv, reads_channels_last=True, writes_channels_last=True)


class Upsampler(nn.Module):
    """ConvTranspose1d whose kernel is twice its stride, as phases; the source is added to its output."""

    def __init__(
        self, conv: nn.ConvTranspose1d, reflect: bool, reads_channels_last: bool, winograd: bool = False
    ) -> None:
        super().__init__()
        taps = conv.weight.shape[2]
        self.stride, self.padding, self.reflect = conv.stride[0], int(conv.padding[0]), reflect
        if taps != 2 * self.stride or conv.output_padding != (0,) or self.stride != 2 * self.padding:
            raise ValueError(
                f"unsupported upsampler {conv}: expected a kernel of twice the stride, no padding of output"
            )
        dense = phases_of(effective_weight(conv), self.stride)
        assert conv.bias is not None
        bias = conv.bias.repeat(self.stride)
        self.conv: Conv | WinogradConv
        if winograd:
            self.conv = WinogradConv(dense, bias, padding=1)
        else:
            axes = {"reads_channels_last": reads_channels_last, "writes_channels_last": True}
            self.conv = Conv(dense, bias, padding=1, **axes)

    def forward(self, x: Tensor, source: Tensor, slope: float) -> Tensor:
        """Maps [1, in, n] or [1, n, in], and source [1, stride * n (+ 1), out], to the shape of `source`."""
        return operators.interleave(
            self.conv(x, slope=slope), source, self.stride, self.padding, self.reflect
        )


class SourceDownsampler(nn.Module):
    """A strided Conv1d of the source's spectrum whose kernel is twice its stride, as phases."""

    def __init__(self, conv: nn.Conv1d) -> None:
        super().__init__()
        outputs, inputs, taps = conv.weight.shape
        self.stride, self.padding = conv.stride[0], int(conv.padding[0])
        if taps != 2 * self.stride or self.stride != 2 * self.padding:
            raise ValueError(f"unsupported source convolution {conv}: expected a kernel of twice the stride")
        weight = effective_weight(conv).reshape(outputs, inputs, 2, self.stride)
        phases = weight.permute(0, 3, 1, 2).reshape(outputs, self.stride * inputs, 2)
        self.conv = Conv(phases, conv.bias, writes_channels_last=True)

    def forward(self, spectrum: Tensor) -> Tensor:
        """Maps [1, in, stride * n + 1] to [1, n, out]."""
        result: Tensor = self.conv(operators.fold(spectrum, self.stride, self.padding))
        return result


class Generator(nn.Module):
    """kokoro's `Generator` after the source: hidden [1, 512, 2 * m], spectrum to audio [1, 600 * m].

    Between the first upsampler and the last convolution the channels are last: see `kernels.winograd`.
    """

    SLOPE, LAST_SLOPE = 0.1, 0.01

    def __init__(self, generator: Any, winograd: bool = True) -> None:
        super().__init__()
        ups, noise_convs = list(generator.ups), list(generator.noise_convs)
        self.ups = nn.ModuleList(
            Upsampler(
                up, index == len(ups) - 1, reads_channels_last=index > 0, winograd=winograd and index > 0
            )
            for index, up in enumerate(ups)
        )
        self.source_convs = nn.ModuleList(
            Conv.of(conv, writes_channels_last=True) if conv.stride == (1,) else SourceDownsampler(conv)
            for conv in noise_convs
        )
        self.source_blocks = nn.ModuleList(GeneratorBlock(block, winograd) for block in generator.noise_res)
        self.blocks = nn.ModuleList(GeneratorBlock(block, winograd) for block in generator.resblocks)
        self.kernels = int(generator.num_kernels)
        self.last: Conv | WinogradConv
        if winograd:
            # The spectrum's logarithm bears the rounding of transformed weights worst, and these are few.
            self.last = WinogradConv.of(generator.conv_post, writes_channels_last=False, large=False)
        else:
            self.last = Conv.of(generator.conv_post, reads_channels_last=True)

    def forward(self, x: Tensor, style: Tensor, spectrum: Tensor) -> Tensor:
        """Spectrum [1, 22, 120 * m + 1] holds 11 magnitudes, then 11 phases."""
        for index, up in enumerate(self.ups):
            source = self.source_blocks[index](self.source_convs[index](spectrum), style)
            x = up(x, source, self.SLOPE)
            total = None
            for kernel in range(self.kernels):
                scale = 1 / self.kernels if kernel == self.kernels - 1 else 1.0
                total = self.blocks[index * self.kernels + kernel](x, style, total, scale)
            assert total is not None
            x = total
        return operators.inverse_stft(self.last(x, slope=self.LAST_SLOPE))


class DecoderBody(nn.Module):
    """kokoro's `Decoder` before its generator: asr [1, 512, m], F0, N, style to hidden [1, 512, 2 * m]."""

    def __init__(self, decoder: Any) -> None:
        super().__init__()
        f0, energy = decoder.F0_conv, decoder.N_conv
        self.f0_weight, self.f0_bias = parameter(effective_weight(f0)[0, 0]), parameter(f0.bias)
        self.energy_weight = parameter(effective_weight(energy)[0, 0])
        self.energy_bias = parameter(energy.bias)
        self.asr = Conv.of(decoder.asr_res[0])
        self.encode = ResidualBlock(decoder.encode, takes_statistics=True)
        self.decode = nn.ModuleList(ResidualBlock(block, takes_statistics=True) for block in decoder.decode)

    def forward(self, asr: Tensor, f0: Tensor, energy: Tensor, style: Tensor) -> Tensor:
        """Takes F0 and N [1, 2 * m]."""
        f0 = operators.halve(f0, self.f0_weight, self.f0_bias)
        energy = operators.halve(energy, self.energy_weight, self.energy_bias)
        x: Tensor = self.encode(torch.cat([asr, f0, energy], dim=1), style)
        condition = [self.asr(asr), f0, energy]
        for block in self.decode:
            x = block(torch.cat([x, *condition], dim=1), style)
        return x


class HarmonicSource(nn.Module):
    """Spectrum of kokoro's harmonic source: F0 [1, 2 * m], noise [1, 600 * m] to [1, 22, 120 * m + 1]."""

    def __init__(self, generator: Any) -> None:
        super().__init__()
        merge = generator.m_source.l_linear
        self.weight, self.bias = parameter(merge.weight[0]), parameter(merge.bias)

    def forward(self, f0: Tensor, noise: Tensor) -> Tensor:
        """Noise is one unit Gaussian a sample: the merged noise of the harmonics."""
        return operators.harmonic_source(f0, self.weight, self.bias, noise)


class Decoder(nn.Module):
    """Maps asr [1, 512, m], F0, N [1, 2 * m], style [1, 128], noise [1, 600 * m] to audio [1, 600 * m]."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        decoder = model.decoder
        self.body = DecoderBody(decoder)
        self.source = HarmonicSource(decoder.generator)
        self.generator = Generator(decoder.generator)

    def forward(
        self, asr: Tensor, f0: Tensor, energy: Tensor, decoder_style: Tensor, noise: Tensor
    ) -> Tensor:
        """Returns samples at 24 kHz."""
        hidden = self.body(asr, f0, energy, decoder_style)
        result: Tensor = self.generator(hidden, decoder_style, self.source(f0, noise))
        return result


class SpectrumDecoder(nn.Module):
    """The decoder after its harmonic source, for a GPU: the source's spectrum takes the place of noise."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.body = DecoderBody(model.decoder)
        self.generator = Generator(model.decoder.generator, winograd=False)

    def forward(
        self, asr: Tensor, f0: Tensor, energy: Tensor, decoder_style: Tensor, spectrum: Tensor
    ) -> Tensor:
        """Returns samples at 24 kHz of asr [1, 512, m] and a spectrum [1, 22, 120 * m + 1]."""
        hidden = self.body(asr, f0, energy, decoder_style)
        result: Tensor = self.generator(hidden, decoder_style, spectrum)
        return result
