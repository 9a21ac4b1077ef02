"""`python -m mlebench.testing`: serve the engineers by their names, until interrupted."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

import click

from mlebench.errors import MlebenchError, UsageError
from mlebench.testing.conversation import Engineer

KEPT = 100  # requests; all of a long run would fill the memory


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=0, show_default=True, help="Port to listen at; 0 is any free one.")
@click.option("--engineer", help="Let this engineer answer to every model name.")
@click.option("--key", help="Answer requests with another key by 401.")
@click.option(
    "--write-models",
    type=click.Path(dir_okay=False, path_type=Path),
    help='Write a file for "mlebench run --models FILE" that names this server "scripted".',
)
def main(host: str, port: int, engineer: str | None, key: str | None, write_models: Path | None) -> None:
    """Serve scripted engineers in the place of a language model."""
    from mlebench.files import write_text
    from mlebench.testing.engineers import engineers_by_name
    from mlebench.testing.server import serve

    table = engineers_by_name()
    script = table if engineer is None else _one(table, engineer)
    with serve(script, key=key, host=host, port=port) as server:
        server.requests = deque(maxlen=KEPT)
        path = write_models or Path("scripted.toml")
        if write_models:
            write_text(write_models, models_file(server.url, server.models, key is not None))
        click.echo(f"Serving at {server.url}: {', '.join(server.models)}. Stop with Ctrl-C.")
        if not write_models:
            click.echo(f"Start again with --write-models {path} for the file that is used here:")
        if key:
            click.echo(f"export SCRIPTED_KEY={key}")
        model = server.models[0]
        click.echo(f"mlebench run --agent aide --model scripted/{model} --models {path} -c spaceship-titanic")
        _wait()


def _one(table: dict[str, Engineer], name: str) -> Engineer:
    if name not in table:
        raise UsageError(f'no engineer "{name}". There are: {", ".join(table)}')
    return table[name]


def models_file(url: str, models: list[str], with_key: bool = False) -> str:
    """The TOML file that makes this server the upstream "scripted" of a run."""
    key = 'key = "SCRIPTED_KEY"\n' if with_key else ""
    aliases = "".join(f'{model} = "scripted/{model}"\n' for model in models)
    prices = "".join(
        f'\n[prices."scripted/{model}"]\ninput = 1.0\ncached_input = 0.1\noutput = 4.0\n' for model in models
    )
    dialects = '["openai-chat", "openai-responses", "openai-completions", "openai-embeddings", "anthropic", "google"]'
    return f'[upstreams.scripted]\nurl = "{url}"\n{key}dialects = {dialects}\n\n[aliases]\n{aliases}{prices}'


def _wait() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("")


def _run() -> None:
    try:
        main(prog_name="python -m mlebench.testing", standalone_mode=True)
    except MlebenchError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    _run()
