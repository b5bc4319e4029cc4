"""The networks in torch, for training; parser/inference has the frozen ones."""
