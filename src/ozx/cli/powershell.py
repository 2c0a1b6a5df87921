"""Completion of command lines in PowerShell, which click lacks."""

from __future__ import annotations

import json
import os

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class

# Without a result, PowerShell completes names of files.
_SCRIPT = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $before = $line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor }
    $env:COMP_WORDS = ($before | ForEach-Object { "$_".Trim('"', "'") }) -join "`n"
    $env:COMP_CWORD = $word
    $env:%(complete_var)s = "powershell_complete"
    try {
        %(prog_name)s | Where-Object { $_ } | ConvertFrom-Json | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_.value, $_.value, "ParameterValue", $_.help)
        }
    } finally {
        Remove-Item "Env:%(complete_var)s", "Env:COMP_WORDS", "Env:COMP_CWORD" -ErrorAction Ignore
    }
}
"""


@add_completion_class
class PowerShellComplete(ShellComplete):
    """Answers of one line of JSON each, in ASCII: PowerShell decodes them by the code page of the console."""

    name = "powershell"
    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the finished words after the program's name, and the word at the cursor."""
        # PowerShell does not pass on empty variables.
        words = os.environ.get("COMP_WORDS", "").split("\n")
        return words[1:], os.environ.get("COMP_CWORD", "")

    def format_completion(self, item: CompletionItem) -> str:
        """Return a result as a line of JSON; an empty line for names of files."""
        if item.type != "plain":
            return ""
        return json.dumps({"value": item.value, "help": item.help or item.value})
