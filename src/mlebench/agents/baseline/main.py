"""Start the baseline: see `solver/run.py`."""

if __name__ == "__main__":
    from solver.run import main  # pyright: ignore[reportMissingImports]

    main()
