"""Run one verb of ozx on the input of a rule; the verb is `params.verb`, its options are `params.extra`."""

from snakemake.shell import shell

snakemake = globals()["snakemake"]  # given by Snakemake
verb = snakemake.params.verb
extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

# Validation writes its findings, and fails the rule if a file is not valid; other verbs write the output's files.
if verb == "validate":
    shell("ozx validate {extra} --json -- {snakemake.input:q} > {snakemake.output[0]:q}")
else:
    shell("ozx {verb} {extra} --force -- {snakemake.input:q} {snakemake.output:q} {log}")
