"""Print a great deal."""

BLOCKS = 50
LINES = 1000
LINE = "epoch after epoch the loss goes down a little, and a little more, and so it goes on and on"


def main() -> None:
    """Some 5 million characters, each line with its number."""
    for block in range(BLOCKS):
        print("\n".join(f"{number} {LINE}" for number in range(block * LINES, (block + 1) * LINES)))


if __name__ in ("__main__", "builtins"):
    main()
