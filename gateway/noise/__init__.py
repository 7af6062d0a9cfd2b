"""Noise mechanisms: exact samplers, their privacy cost, their tail bounds, and thresholds for groups.

Integers in, integers out. `mechanism` holds the values that other packages use. `entropy` is the only place in
the gateway where randomness comes from. The proof that each sampler has exactly the distribution it names is in
docs/proofs/noise.md.
"""
