"""Start AIDE: see `search/run.py`."""

if __name__ == "__main__":
    from search.run import main  # pyright: ignore[reportMissingImports]

    main()
