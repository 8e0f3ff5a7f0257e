"""The part of the GPU tests in `make test`: a kernel with barriers and one with fast math's functions."""

from tests.machines import test_gpu_adain, test_gpu_kernels
from tests.support.kernels.on_gpu import Gpu, every_device


@every_device
def test_adaptive_instance_normalisation_holds_on_the_stand_in(device: str, gpu: Gpu) -> None:
    test_gpu_adain.test_a_level_that_changes_with_time_is_in_the_variance(device, "channels last", gpu)


@every_device
def test_an_lstm_holds_on_the_stand_in(device: str, gpu: Gpu) -> None:
    test_gpu_kernels.test_states_are_those_of_torch_over_a_packed_sequence(device, 32, 17, gpu)
