"""How anything long runs: compilation, threads, progress."""
