"""torchrun of PyTorch 1.13 under Python 3.11, the pair that Debian 12 ships. It cannot start as it is: since
Python 3.11 iterating a Flag leaves out the member with value 0, and the parser of --redirects and --tee looks
for it that way. This puts in a parser that finds it and runs torchrun otherwise unchanged."""
import sys

import torch.distributed.elastic.multiprocessing.api as api


def from_str(text):
    std = {member.value: member for member in api.Std.__members__.values()}
    if ":" in text:
        return {int(rank): std[int(value)] for rank, value in (pair.split(":") for pair in text.split(","))}
    return std[int(text)]


api.Std.from_str = staticmethod(from_str)
from torch.distributed.run import main

sys.exit(main())
