"""Hand-blocked CPU kernels: TVMScript functions with symbolic lengths, each made by a factory.

Nothing is imported here, because rounding and layouts of weights need no TVM, which takes a second to import.
"""
