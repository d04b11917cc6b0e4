from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

import robx
from cli_cases import Run
from robx.cli import COMMANDS, robx_command


def test_help_names_every_command_and_the_exit_codes(call: Run) -> None:
    said = call("--help")
    assert said.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in said.out
    assert all(f"\n    {code} " in said.out for code in (0, 1, 2, 70, 130, 143))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_examples_of_itself(call: Run, name: str) -> None:
    said = call(name, "--help")
    assert said.code == 0
    assert f"robx {name}" in said.out.split("Examples")[1].split("Options:")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is_for(name: str) -> None:
    command = robx_command.get_command(click.Context(robx_command), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_the_examples_in_help_use_options_that_exist(call: Run) -> None:
    for name in COMMANDS:
        examples = call(name, "--help").out.split("Examples")[1].split("Options:")[0]
        command = robx_command.get_command(click.Context(robx_command), name)
        assert command is not None
        known = {word for parameter in command.params for word in parameter.opts}
        lines = examples.replace("\\\n", " ").splitlines()
        for line in (line for line in lines if line.strip().startswith(f"robx {name}")):
            used = {word for word in line.split() if word.startswith("--")}
            assert used <= known, line


def test_version(call: Run) -> None:
    assert call("--version").out == f"robx, version {robx.__version__}\n"


def test_an_unknown_command_is_bad_input(call: Run) -> None:
    said = call("explian")
    assert said.code == 2
    assert "No such command 'explian'" in said.err


def test_python_m_robx_is_the_command() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "robx", "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("robx, version")


def test_help_loads_none_of_the_heavy_libraries() -> None:
    code = (
        "import sys\n"
        "from robx.cli import run\n"
        "run(['--help'])\n"
        "heavy = {'numpy', 'pandas', 'numba', 'sklearn', 'matplotlib', 'jinja2'}\n"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ran.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_robx_back(call: Run, shell: str) -> None:
    said = call("completion", shell)
    assert said.code == 0
    assert f"_ROBX_COMPLETE={shell}_complete" in said.out


def test_the_shell_is_given_commands_and_options() -> None:
    def completed(words: str) -> str:
        place = str(len(words.split(" ")) - 1)
        asked = {"_ROBX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
        command = [sys.executable, "-m", "robx"]
        environment = {**os.environ, **asked}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        ).stdout

    assert "plain,explain" in completed("robx ex")
    assert "plain,--applicants" in completed("robx explain --app")
    assert "file," in completed("robx explain --model ")


@pytest.mark.slow
def test_a_reader_that_stops_is_no_error(folder: Path) -> None:
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "robx",
        "stability",
        "--data",
        folder / "train.csv",
    ]
    command += ["--model", folder / "model.ubj", "--label", "good", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_reader_that_stops_at_the_help_is_no_error() -> None:
    command = [sys.executable, "-m", "robx", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 0


def test_ctrl_c_ends_with_130_and_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "recourse.json"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "robx",
        "explain",
        "--model",
        folder / "model.ubj",
    ]
    command += ["--data", folder / "train.csv", "--label", "good", "--models", "5000"]
    command += ["--applicants", folder / "people.csv", "--id", "who", "--out", out]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline()  # it has begun to train
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Stopped" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
