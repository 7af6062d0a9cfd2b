"""The noise: exact samplers, what they cost, how far they reach, and the thresholds for groups.

Integers in, integers out. `mechanism` has the values that the other stages handle; `entropy` is the
only place in the gateway where randomness comes from. Why every sampler has exactly the distribution
it claims: docs/proofs/noise.md.
"""
