"""Benchmarks: ratios against baselines, measured in one interleaved run. `make bench` prints them."""
