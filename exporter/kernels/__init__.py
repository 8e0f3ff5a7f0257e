"""Hand-blocked CPU kernels: TVMScript functions with symbolic lengths, each made by a factory."""
