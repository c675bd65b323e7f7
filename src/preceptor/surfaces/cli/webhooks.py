"""`preceptor webhooks`: addresses that are told what happens in the organisation `default`."""

from functools import partial
from typing import Annotated, Any

import typer

from preceptor.surfaces.cli.connection import api, path_to
from preceptor.surfaces.cli.console import AsJson, say, say_json, say_table, when

app = typer.Typer(no_args_is_help=True, help="Have addresses told what happens, signed and tried until it arrives.")
_path = partial(path_to, "/api/webhooks")

WebhookId = Annotated[str, typer.Argument(metavar="ID", help="As `preceptor webhooks list` shows it.")]


@app.command("list")
def list_webhooks(as_json: AsJson = False) -> None:
    """List the webhooks, without their secrets."""
    with api() as preceptor:
        found = list(preceptor.items("/api/webhooks"))
    if as_json:
        say_json(found)
        return
    rows = [(one["webhookId"], one["url"], ", ".join(one["events"]), _state(one)) for one in found]
    say_table(("id", "address", "told of", "state"), rows)


@app.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to post; PRECEPTOR_EGRESS_ALLOW must name it.")],
    event: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="version.published, label.moved, experiment.ended or turn.blocked; may be given again. Default: all.",
        ),
    ] = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    as_json: AsJson = False,
) -> None:
    """Have an address told. The secret for checking signatures is shown once.

    [bold]Examples[/bold]
      preceptor webhooks add https://hooks.example.com/preceptor
      preceptor webhooks add https://hooks.example.com/alarm --event turn.blocked
    """
    new: dict[str, Any] = {"url": url, "description": description} | ({"events": event} if event else {})
    with api() as preceptor:
        made = preceptor.post("/api/webhooks", new)
    if as_json:
        say_json(made)
        return
    _say_secret(made)


@app.command()
def rotate(
    webhook_id: WebhookId,
    overlap_hours: Annotated[
        int, typer.Option(min=0, max=168, help="For how long the former secret signs as well; 0 ends it at once.")
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """Give a webhook a new secret. It is shown once; until the former one ends, messages are signed with both."""
    with api() as preceptor:
        made = preceptor.post(f"{_path(webhook_id, 'rotate')}?overlapHours={overlap_hours}")
    if as_json:
        say_json(made)
        return
    _say_secret(made)
    say((f"Former secrets end at {made['oldSecretsEndAt']}." if overlap_hours else "Former secrets have ended.", "dim"))


@app.command()
def remove(webhook_id: WebhookId) -> None:
    """Forget a webhook, and what was sent to it."""
    with api() as preceptor:
        preceptor.delete(_path(webhook_id))
    say(f"Webhook {webhook_id} is removed.")


@app.command("test")
def post(webhook_id: WebhookId, as_json: AsJson = False) -> None:
    """Post one signed message, now and once, and say what came of it. Exits with 1 if it was not taken."""
    with api() as preceptor:
        attempt = preceptor.post(_path(webhook_id, "test"))
    if as_json:
        say_json(attempt)
    else:
        say(f"{attempt['sentence']} It took {attempt['seconds']:.2f} s.")
    if not attempt["ok"]:
        raise typer.Exit(1)


@app.command()
def deliveries(
    webhook_id: WebhookId,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what was sent to a webhook, or is to be."""
    with api() as preceptor:
        found = preceptor.get(_path(webhook_id, "deliveries"), limit=limit)["items"]
    if as_json:
        say_json(found)
        return
    rows = [
        (one["deliveryId"], one["event"], when(one["createdAt"]), one["status"], str(one["attempts"]), _last(one))
        for one in found
    ]
    say_table(("id", "event", "happened", "status", "attempts", "last"), rows)


@app.command()
def redeliver(
    webhook_id: WebhookId,
    delivery_id: Annotated[
        str, typer.Argument(metavar="DELIVERY", help="As `preceptor webhooks deliveries` shows it.")
    ],
) -> None:
    """Send a message again, under the id it had."""
    with api() as preceptor:
        preceptor.post(_path(webhook_id, "deliveries", delivery_id, "redeliver"))
    say(f"{delivery_id} is sent again.")


def _say_secret(made: dict[str, Any]) -> None:
    say((made["secret"], "bold"))
    say((f"Webhook {made['webhookId']}. Its secret is shown this once: keep it now.", "dim"))


def _state(webhook: dict[str, Any]) -> str:
    if webhook["enabled"]:
        return "on"
    return f"off: {webhook['disabledBecause']}" if webhook["disabledBecause"] else "off"


def _last(delivery: dict[str, Any]) -> str:
    return delivery["lastAttempt"]["sentence"] if delivery["lastAttempt"] else ""
