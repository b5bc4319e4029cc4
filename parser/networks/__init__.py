"""The networks in torch, as they are trained; parser/inference has them frozen."""
