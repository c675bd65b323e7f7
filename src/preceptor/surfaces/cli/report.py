"""A replay as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

Json = dict[str, Any]
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse}td,th{padding:.25rem .75rem;text-align:left;border-bottom:1px solid #ddd}
td.n{text-align:right;font-variant-numeric:tabular-nums}details{border-top:1px solid #ddd;padding:.5rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0;padding:.25rem .5rem;border-left:4px solid #999}
pre.before{border-color:#a4262c;background:#fdf0f0}pre.after{border-color:#1a7f37;background:#eefaf0}
.quiet{color:#595959}.bad{color:#a4262c;font-weight:600}
@media(prefers-color-scheme:dark){body{background:#16161a;color:#e6e6ea}td,th,details{border-color:#444}
pre.before{background:#3a1d1f}pre.after{background:#16301d}.quiet{color:#a8a8b0}.bad{color:#ff8d8d}}
"""


def html_of(replay: Json, items: Iterable[Json]) -> str:
    """The whole page. Everything that someone said is escaped."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Replay {escape(replay['replayId'])}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>Replay</h1><p class='quiet'>{escape(replay['replayId'])} · {escape(replay['status'])}</p>",
            f"<p>{escape(replay['validity'])}</p>",
            *_sums(replay["summary"]),
            *_comparison(replay["comparison"]),
            "<h2>Turns</h2>",
            *(line for item in items for line in _item(item)),
            "</main></body></html>",
            "",
        ]
    )


def _sums(sums: Json) -> Iterator[str]:
    names = ("turns", "same", "changed", "ruleBreaks", "diverged", "failed", "tokens", "cost")
    yield "<table><tr>" + "".join(f"<th scope='col'>{name}</th>" for name in names) + "</tr><tr>"
    yield "".join(f"<td class='n'>{sums[name]:g}</td>" for name in names) + "</tr></table>"


def _comparison(rows: list[Json]) -> Iterator[str]:
    if not rows:
        return
    yield "<h2>Before and after</h2>"
    yield "<p class='quiet'>Means of conversations, with the 95 % interval of the difference.</p>"
    heads = ("measure", "conversations", "before", "after", "difference", "interval", "p")
    yield "<table><tr>" + "".join(f"<th scope='col'>{head}</th>" for head in heads) + "</tr>"
    for row in rows:
        interval = "none" if row["low"] is None else f"{row['low']:+.4g} … {row['high']:+.4g}"
        p_value = "none" if row["pValue"] is None else f"{row['pValue']:.3g}"
        numbers = (row["units"], f"{row['before']:.4g}", f"{row['after']:.4g}", f"{row['difference']:+.4g}")
        cells = "".join(f"<td class='n'>{cell}</td>" for cell in (*numbers, interval, p_value))
        yield f"<tr><td>{escape(row['metric'])}</td>{cells}</tr>"
    yield "</table>"


def _item(item: Json) -> Iterator[str]:
    verdict = "same" if item["same"] else item["status"] if item["status"] != "done" else "changed"
    broken = [rule for rule in item["rules"] if not rule["passed"]]
    mark = " · <span class='bad'>breaks a rule</span>" if broken else ""
    yield f"<details{'' if item['same'] else ' open'}><summary>{escape(item['turnId'])} · {verdict}{mark}</summary>"
    for sentence in filter(None, (item["sentence"], item["diverged"], *item["notes"])):
        yield f"<p>{escape(sentence)}</p>"
    if item["fate"] is not None:
        yield f"<p>The tables led to {escape(item['fate']['before'])}, and now to {escape(item['fate']['after'])}.</p>"
    for rule in broken:
        yield f"<p class='bad'>{escape(rule['rule'])}: {escape(rule['detail'])}</p>"
    if item["contextDiff"]:
        yield "<h3>What the model is shown</h3>"
        for part in item["contextDiff"]:
            side = "before" if part["side"] == "before" else "after"
            yield f"<pre class='{side}'>{escape(part['role'])}: {escape(part['text'])}</pre>"
    yield from _answer(item["answerDiff"])
    yield "</details>"


def _answer(diff: Json) -> Iterator[str]:
    if diff["removed"] or diff["added"]:
        yield "<h3>The answer</h3>"
    for side, name in (("before", "removed"), ("after", "added")):
        if diff[name]:
            yield f"<pre class='{side}'>{escape(chr(10).join(diff[name]))}</pre>"
