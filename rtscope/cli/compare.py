"""rtscope compare: is B better or worse than A?"""

from typing import Annotated

import typer


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Id, last, last~1, or a file of a run.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run that is judged against A.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put two runs side by side, with confidence intervals and one sentence.

    The sentence says that B is better, worse, or that there is no evidence of either. It rests on
    quantiles that both runs have the samples for, never on the maxima alone.

    \b
    rtscope compare last~1 last
    rtscope compare before.json after.json
    """
    import msgspec

    from rtscope.report.terminal import comparison_table, output_console
    from rtscope.statistics.comparison import compare as compare_runs
    from rtscope.store.naming import run_named

    comparison = compare_runs(run_named(a), run_named(b))
    if json:
        typer.echo(msgspec.json.encode(comparison))
    else:
        output_console().print(comparison_table(comparison))
