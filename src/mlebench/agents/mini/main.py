"""Start mini-swe-agent: see `engineer/run.py`."""

if __name__ == "__main__":
    from engineer.run import main  # pyright: ignore[reportMissingImports]

    main()
