"""`hush completion`: a script that lets a shell complete commands, options and their choices."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

from hush.app.commands import COMMANDS
from hush.app.options import add_examples

ABOUT = """\
once for this session:   eval "$(hush completion bash)"    (zsh alike; fish: hush completion fish | source)
for every session:       put that line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish
"""

BASH = """\
_hush() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; else case "$command" in
{cases}
    esac; fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _hush hush"""
ZSH = """\
(( $+functions[compdef] )) || {{ autoload -U compinit && compinit; }}
autoload -U +X bashcompinit && bashcompinit
{script}"""
"""Its own completion is there only once somebody has asked for it."""


def add(parser: ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")
    add_examples(parser, "hush completion bash", more=ABOUT)


def run(arguments: Namespace) -> str:
    """The script."""
    known = vocabulary()
    if arguments.shell == "fish":
        lines = [f"complete -c hush -n __fish_use_subcommand -f -a '{' '.join(known)}'"]
        lines += [
            f"complete -c hush -n '__fish_seen_subcommand_from {name}' -a '{' '.join(words)}'"
            for name, words in known.items()
        ]
        return "\n".join(lines)
    cases = "\n".join(f'        {name}) words="{" ".join(words)}" ;;' for name, words in known.items())
    script = BASH.format(commands=" ".join(known), cases=cases)
    return script if arguments.shell == "bash" else ZSH.format(script=script)


def vocabulary() -> dict[str, list[str]]:
    """Every command, and what may be completed behind it: its options and the choices of all of them."""
    found: dict[str, list[str]] = {}
    for name in COMMANDS:
        parser = ArgumentParser(prog=name)
        import_module(f"hush.app.commands.{name}").add(parser)
        found[name] = list(dict.fromkeys(_words(parser)))
    return found


def _words(parser: ArgumentParser) -> list[str]:
    """Options and choices, also those of commands below."""
    found: list[str] = []
    for action in parser._actions:  # noqa: SLF001 (argparse has no public list of them)
        found += [word for word in action.option_strings if word.startswith("--")]
        if isinstance(action.choices, dict):
            below = [one for one in action.choices.values() if isinstance(one, ArgumentParser)]
            found += [word for one in below for word in _words(one)]
        if action.choices is not None:
            found += map(str, action.choices)
    return found
