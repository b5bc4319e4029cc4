"""torch's own bidirectional LSTM."""

import torch
from torch import nn


@torch.no_grad()
def both_ways(forwards: nn.LSTM, backwards: nn.LSTM) -> nn.LSTM:
    """One with the weights of two LSTMs."""
    both = nn.LSTM(forwards.input_size, forwards.hidden_size, bidirectional=True)
    for suffix, side in (("", forwards), ("_reverse", backwards)):
        for name, weight in side.named_parameters():
            getattr(both, name + suffix).copy_(weight)
    return both
