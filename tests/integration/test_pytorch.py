"""Real PyTorch, whichever is installed (1.13 on Debian 12): collectives, store, example, restarts."""
import harness
import torch_cases


class InstalledTorch(torch_cases.TorchBase):
    python = property(lambda self: harness.torch_python())


class Collectives(torch_cases.Collectives, InstalledTorch):
    pass


class StoreMethods(torch_cases.StoreMethods, InstalledTorch):
    pass


class Example(torch_cases.Example, InstalledTorch):
    pass


class Restarts(torch_cases.FiveRestarts, InstalledTorch):
    pass


class RecordedErrors(torch_cases.RecordedErrors, InstalledTorch):
    pass
