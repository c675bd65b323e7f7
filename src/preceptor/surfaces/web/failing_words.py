"""The words for failures, as pages say them: no address of the API, no header, no key. `sentences.py` fills them in."""

from preceptor.domain import errors, gaps
from preceptor.domain.conversations.compaction import SummaryFailed
from preceptor.domain.executions import binding, graph
from preceptor.domain.history import errors as history
from preceptor.domain.instructions import instruction, lifecycle, references, template, version
from preceptor.domain.paging import BadCursor
from preceptor.domain.prompts import reply
from preceptor.engine import calling_out
from preceptor.engine.attachments import FileTooLarge, SentElsewhere
from preceptor.engine.library.gatekeeping import GateClosed
from preceptor.engine.library.usage import InstructionInUse
from preceptor.engine.means.guarding import GuardUnavailable
from preceptor.engine.means.places import TooManyTurns
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.repositories.experiments import ExperimentRunning
from preceptor.engine.turn import failing
from preceptor.engine.viewing.branching import NothingToAnswer
from preceptor.engine.viewing.compacting import ViewChangedMeanwhile
from preceptor.surfaces.problems import SlowBody
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views import wording
from preceptor.wire import strict_json

CIRCLE = msg("These steps wait for each other: %(chain)s. Take one of them out of another's dependsOn.")
ITSELF = msg("Step %(step)s depends on itself. Take it out of its own dependsOn.")
LATER = msg("The database does not answer right now. Nothing was lost; try again in %(retry_after)s s.")
LOOK_THERE = msg("Check the address, or look in the list.")

BY_KIND: dict[type[errors.PreceptorError], str] = {
    errors.Unauthenticated: msg("You are not signed in. Sign in, then repeat it."),
    errors.Refused: msg("You may not do that: it needs the permission %(needs)s. Ask an admin for it."),
    errors.PreconditionFailed: msg("It has changed since you read it. Look at what it says now, then save again."),
    errors.TooLarge: msg("This is larger than the %(limit)s bytes that are accepted here. Send less."),
    FileTooLarge: msg("The file is larger than %(limit)s bytes. Send a smaller one."),
    errors.Busy: msg("Too many requests. Try again in %(retry_after)s s."),
    TooManyTurns: msg(
        "As many turns are running as may at once for you. Nothing was kept of this one; try again in "
        "%(retry_after)s s."
    ),
    errors.Unavailable: LATER,
    errors.ShuttingDown: msg("The server is stopping. Nothing was lost; try again in %(retry_after)s s."),
    GuardUnavailable: msg(
        "The safety check gives no verdict right now, and without one nothing is sent to a model. Try again in "
        "%(retry_after)s s."
    ),
    errors.DiskFull: msg("There is no room left on the server's disk, so nothing was written. Tell whoever runs it."),
    SlowBody: msg("What you sent took too long to arrive. Send it again."),
    BadCursor: msg("This place in the list is not known. Begin the list again."),
    InstructionInUse: msg("Agents use it: %(agents)s. Take it from them first, or switch their assignments off."),
    ExperimentRunning: msg("The experiment %(experiment_id)s runs here. Stop it first."),
    GateClosed: msg("The label '%(label)s' has a gate, and %(version)s has not passed it: %(why)s"),
    TurnInProgress: msg("The last message is still being answered. Wait for the end or stop it, then send again."),
    ViewChangedMeanwhile: msg("The conversation was changed meanwhile, so nothing was done. Look again, then repeat."),
    NothingToAnswer: msg("Nothing that a user said is shown here, so there is nothing to answer again."),
    SentElsewhere: msg("This file was sent in another conversation. Attach it again to send it in this one."),
    lifecycle.CannotMove: msg("A version that is %(before)s cannot become %(after)s, but: %(allowed)s."),
    failing.TurnOverBudget: msg("The turn went over its budget, so it was ended. Ask for less, or raise the budget."),
    failing.TurnUpstream: msg("The model could not answer. Send the message again."),
    failing.TurnTimeout: msg("The model did not answer in time. Send the message again."),
    failing.TurnUncompressed: msg("The earlier messages could not be summed up. Send the message again."),
    failing.TurnUnguarded: msg("The safety check gave no verdict, so nothing was answered. Send the message again."),
    reply.ModelTimeout: msg("The model did not answer in time. Try again."),
    reply.ModelFailure: msg("The model could not answer: %(sentence)s"),
    SummaryFailed: msg("The model could not sum the messages up: %(cause)s Try again, or write the text yourself."),
    calling_out.OutcomeUnknown: msg("It is not known whether this was sent. Look there before you try again."),
    history.InvalidTokenLimit: msg(
        "The longest prompt is %(max_tokens)s tokens, and the system prompt alone has %(system_prompt_tokens)s. "
        "Allow more."
    ),
    history.TokenBudgetExceeded: msg(
        "What must be shown needs %(required)s tokens, more than the %(max_tokens)s allowed. Allow more, or write less."
    ),
    history.InvalidHistorySize: msg("It must be at least %(minimum)s. Leave it empty for no limit."),
    history.InsufficientHistory: msg("There are %(message_count)s messages, and at least %(minimum)s are needed."),
    history.CompressionFailed: msg("The earlier messages could not be summed up: %(cause)s"),
    gaps.UndeclaredVariable: msg("'%(name)s' is not a declared variable. Declared are: %(declared)s."),
    references.UnknownDocument: msg(
        "There is no document '%(name)s' to mention. Create an instruction of that name first."
    ),
    references.CyclicReference: msg(
        "These documents mention each other in a circle: %(names)s. Take one mention away."
    ),
    references.DocumentsTooLong: msg(
        "With '%(name)s' the documents mentioned have %(tokens)s tokens; %(limit)s are allowed. Shorten it."
    ),
    template.MissingVariable: msg("The variable '%(name)s' is required. Give it a value."),
    template.BadVariable: msg("The variable '%(name)s' must be %(wanted)s."),
    template.FilledTooLong: msg("Filled in, a text is longer than %(limit)s characters. Give shorter values."),
    instruction.TwoSetsOfRules: msg("The validation rules are given twice, and differ. Give them once."),
    version.BadVersion: msg("'%(text)s' is not a version. Write three numbers, such as 1.2.0."),
    version.BadPin: msg("'%(text)s' is not a pin. Write latest, exact, a range such as ^1.2, or label:NAME."),
    graph.CyclicSteps: CIRCLE,
    graph.TwoStepsWithOneIndex: msg("Two steps have the index %(index)s. Give every step an index of its own."),
    graph.UnknownStep: msg("Step %(step)s names step %(unknown)s, and there is none. Correct it, or add the step."),
    graph.NotBefore: msg(
        "Step %(step)s takes from step %(wanted)s, but does not depend on it. Add it to its dependsOn."
    ),
    graph.NotInstructions: msg("The instructions of step %(step)s must be those that an earlier step has loaded."),
    binding.NothingThere: msg("Step %(step)s put out nothing at '%(path)s'. Correct the path."),
    strict_json.NotJson: msg("The JSON cannot be read at line %(line)s, column %(column)s. Correct it there."),
    strict_json.TrailingBytes: msg("Something follows the JSON at line %(line)s, column %(column)s. Take it away."),
    strict_json.DuplicateKey: msg("The key '%(key)s' occurs twice in one object. Keep one of them."),
    strict_json.TooDeep: msg("The JSON is nested more than %(limit)s levels deep. Make it flatter."),
    strict_json.TooManyKeys: msg("One object has %(count)s keys; at most %(limit)s are read. Split it up."),
    strict_json.NotFinite: msg("%(literal)s is not a number in JSON. Write a finite number, or null."),
    strict_json.NumberTooLarge: msg("The number %(literal)s is too large. Write a smaller one, or write it as text."),
}

NOT_HERE = {
    "agent": msg("There is no agent '%(id)s' here."),
    "assignment": msg("The agent is not given the instruction '%(id)s'."),
    "attachment": msg("There is no file '%(id)s' here."),
    "conversation": msg("There is no conversation '%(id)s' here."),
    "decision table": msg("There is no decision table '%(id)s' here."),
    "delegation in the current view": msg("The step of a specialist '%(id)s' is not shown here any more."),
    "ended turn": msg("There is no turn '%(id)s' here that has ended."),
    "execution": msg("There is no execution '%(id)s' here."),
    "experiment": msg("There is no experiment '%(id)s' here."),
    "instruction": msg("There is no instruction '%(id)s' here."),
    "item of this replay": msg("This replay has no turn '%(id)s'."),
    "key": msg("There is no key '%(id)s' here."),
    "label": msg("There is no label '%(id)s' here."),
    "message": msg("There is no message '%(id)s' here."),
    "message in the current view": msg("The message '%(id)s' is not shown here any more."),
    "model call behind the message": msg("No model was asked for the message '%(id)s'."),
    "page": msg("There is no page '%(id)s' here."),
    "replay": msg("There is no replay '%(id)s' here."),
    "template": msg("There is no template '%(id)s' here."),
    "turn": msg("There is no turn '%(id)s' here."),
    "user": msg("There is no user '%(id)s' here."),
    "version": msg("There is no version '%(id)s' here."),
    "view": msg("There is no view '%(id)s' here."),
}
"""By what was looked for."""

BY_CODE = {
    "budget_exceeded": msg("The budget was used up."),
    "cancelled": msg("It was stopped."),
    "compression_failed": msg("The earlier messages could not be summed up."),
    "conflict": msg("The state of things did not allow it."),
    "forbidden": msg("A permission was missing."),
    "guard_unavailable": msg("The safety check gave no verdict."),
    "internal": msg("Something went wrong in the server."),
    "invalid": msg("It could not be carried out as it was asked."),
    "insufficient_history": msg("There were too few messages."),
    "invalid_token_limit": msg("The prompt may have fewer tokens than the system prompt alone."),
    "not_found": msg("Something that it needed was not there."),
    "outcome_unknown": msg("It is not known whether this was sent."),
    "token_budget_exceeded": msg("What must be shown has more tokens than are allowed."),
    "turn_in_progress": msg("Another message was still being answered."),
    "undeclared_variable": msg("A variable was not declared."),
    "upstream_failed": msg("The model, or what else was asked, did not answer as it should."),
    "upstream_timeout": msg("The model did not answer in time."),
}
"""For what the record says in English: what its code means."""

ONCE_MORE = msg("Have it answered again, or send the message once more.")
_OTHERWISE = msg("Put that right, then send the message once more.")
ADVICE = {
    "budget_exceeded": msg("Ask for less, or raise the budget."),
    "invalid": _OTHERWISE,
    "iteration_limit": msg("Ask for less, or allow more calls in a turn."),
    "token_budget_exceeded": _OTHERWISE,
}
"""What to do about a turn that failed, by its outcome or its code; for the rest, `ONCE_MORE`."""

UNSEEN = "unseen"
TYPES = {
    "int_parsing": "int_type",
    "int_from_float": "int_type",
    "int_parsing_size": "int_type",
    "float_parsing": "float_type",
    "finite_number": "float_type",
    "bool_parsing": "bool_type",
    "literal_error": "enum",
    "datetime_parsing": "datetime_type",
    "datetime_from_date_parsing": "datetime_type",
    "timezone_aware": "datetime_type",
    "union_tag_invalid": "enum_tag",
}
"""Complaints that say the same."""
COMPLAINTS = {
    UNSEEN: msg("There must be something in it that can be seen."),
    "missing": msg("It is missing."),
    "int_type": msg("It must be a whole number."),
    "float_type": msg("It must be a number."),
    "bool_type": msg("It must be true or false."),
    "string_type": msg("It must be text."),
    "datetime_type": msg("It must be a moment, such as 2030-01-31T12:00Z."),
    "enum": msg("It must be one of: %(expected)s."),
    "enum_tag": msg("It must be one of: %(expected_tags)s."),
    "extra_forbidden": msg("There is no such field."),
    "greater_than": msg("It must be more than %(gt)s."),
    "greater_than_equal": msg("It must be at least %(ge)s."),
    "less_than": msg("It must be less than %(lt)s."),
    "less_than_equal": msg("It must be at most %(le)s."),
    "string_too_long": msg("It may have at most %(max_length)s characters."),
    "string_too_short": msg("It must have at least %(min_length)s characters."),
    "string_pattern_mismatch": msg("It has characters in it that cannot be there."),
    "too_long": msg("There may be at most %(max_length)s of these."),
    "too_short": msg("There must be at least %(min_length)s of these."),
}
"""By the type that pydantic gives a complaint."""
FIELDS = {
    **wording.LABELS,
    **{f"validationRules.{name}": label for name, label in wording.RULES.items()},
    "agentIds": msg("With which agents"),
    "duration": msg("Days"),
    "guardrails": msg("Not to be harmed"),
    "hypothesis": msg("What you expect"),
    "instructionId": msg("Instruction"),
    "minimumEffect": msg("Smallest difference that matters"),
    "pin": msg("Follows"),
    "primaryMetric": msg("What decides"),
    "priority": msg("Priority"),
    "splitRatio": msg("Share of the variant"),
}
"""What forms call the fields that the API has."""
