"""One turn while it runs: the loop, its stages, its journal."""
