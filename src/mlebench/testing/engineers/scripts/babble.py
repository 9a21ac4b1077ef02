"""Print a great deal."""

LINES = 100_000
LINE = "epoch after epoch the loss goes down a little, and a little more, and so it goes on and on"


def main() -> None:
    """Some 9 million characters, each line with its number."""
    for number in range(LINES):
        print(number, LINE)


if __name__ in ("__main__", "builtins"):
    main()
