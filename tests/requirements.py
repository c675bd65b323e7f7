"""What Preceptor promises, one sentence each, and which promises still wait for their feature.

A test names the promises it shows with `@covers("R200")`; `tests/test_requirements.py` keeps both sides in step.
`R` is a behaviour, `F` a fault survived, `L` a load carried, `B` bad input refused, `S` an attack that fails.
"""

import pytest

covers = pytest.mark.covers

REQUIREMENTS: dict[str, str] = {
    # Directives on messages
    "R1": (
        "A message holds an ordered, possibly empty list `instructions` of typed directives told apart by `type`; one "
        "of an unknown type is saved back byte for byte and renders no XML."
    ),
    "R2": "Every directive offers `title`, `description`, `serialize_content()` and `to_xml_line()`.",
    "R3": (
        "`DelegateReasoning` needs `agentPrompt`, the whole system prompt of the specialist, and takes "
        "`markIntermediate`, true unless said otherwise."
    ),
    "R4": (
        'A blank prompt fails with "Agent prompt cannot be blank" and one above 50,000 characters, or the configured '
        'limit, with "Agent prompt too long (max 50,000 chars)", also on loading.'
    ),
    "R5": (
        '`DelegateReasoning` is titled "Delegate Reasoning" and described as "Switch to specialized agent for '
        'internal reasoning".'
    ),
    "R6": (
        "The XML line of a delegation is `<delegate-reasoning>Specialist active (N chars)</delegate-reasoning>`, "
        "where N is the length of the prompt, and never shows the prompt."
    ),
    "R7": (
        "`serialize_content()` of a delegation is `delegate_reasoning:<len>:<full prompt>`, `preview(200)` shortens "
        "it, and the stored JSON gives the full prompt back."
    ),
    "R8": (
        '`ReturnControl` carries no data: "Return Control", "Return control to main agent", `return_control` and '
        "`<return-control>Returning to main agent</return-control>`."
    ),
    "R9": (
        '`IntermediateReasoning` carries no data: "Intermediate", "Internal reasoning step (can be cleaned up)", '
        "`intermediate` and `<intermediate>Internal reasoning</intermediate>`."
    ),
    "R10": (
        "A directive without data is written as a JSON object with `type` alone and reads back as an equal directive."
    ),
    "R11": (
        "A message marked intermediate is visible while work goes on, can be filtered, cited and cleaned up, and its "
        "mark changes nothing that a model is sent."
    ),
    "R12": (
        "One message can carry several directives, such as an intermediate mark followed by a return, and keeps their "
        "order."
    ),
    "R13": (
        "A message has a UUIDv7 `id`, `conversationId`, `role` (user, assistant, tool or system), ordered typed "
        "`parts`, `instructions` and `createdAt`."
    ),
    "R14": (
        "Directive lines in a prompt show live state only: one delegation line while delegated, `<return-control>` on "
        "the first call after a return, `<intermediate>` never."
    ),
    "R15": (
        "A specialist exists by its inline prompt alone: delegating creates no agent, no registry entry and no "
        "database lookup of one."
    ),
    "R16": (
        "With `markIntermediate=false` nothing the specialist writes is marked and its text can be the final answer."
    ),
    "R17": (
        "Directives are pure domain values that import nothing from engine, adapters or surfaces and create no tools."
    ),
    "R18": (
        "Every directive type implements all members, survives a JSON round trip, keeps its limits and exact XML, and "
        "its module imports on its own."
    ),
    "R19": (
        "Nested delegations are counted as a stack whose breadcrumb the UI shows, and going deeper than allowed is "
        "refused."
    ),
    "R20": (
        "A delegation records its reason, expected completion time and who delegated to whom, and the history of "
        "delegations can be read."
    ),
    "R21": (
        "Reusable specialist definitions are made from templates whose prompt structure is checked when they are saved."
    ),
    "R22": (
        "Only an agent with permission `delegate` may delegate, no deeper than `max_depth` 3 (at most 5), and its "
        "specialist has only tools that the caller has and that were allowed."
    ),
    # Delegation inside a turn
    "R23": (
        "A delegation stays within one conversation, one history and one stream of events: no other conversation is "
        "created."
    ),
    "R24": (
        "Main agent, `delegate_internal_reasoning`, specialist with tools, `return_control` and the distilled answer "
        "of the main agent all happen in one turn."
    ),
    "R25": (
        "Switching between main agent and specialist replaces the system message of the next model call and leaves "
        "the history as it was."
    ),
    "R26": (
        "Who is speaking is folded from the events of the log from the first iteration on, each directive takes "
        "effect once, and history is never searched for it."
    ),
    "R27": (
        "Delegate puts the specialist and return the caller in charge; in one batch other tools run first, the first "
        'control call wins, the rest get "control tool must be called alone".'
    ),
    "R28": (
        "Every message made while delegated, tool calls, results and the delegate pair included, is marked "
        "intermediate and carries the `delegation_id` of its span."
    ),
    "R29": (
        "A turn stops at 50 iterations with one tool-less main-agent call and outcome `iteration_limit`; a specialist "
        "returns after 20, or when it answers in plain text."
    ),
    "R30": (
        "`delegate_internal_reasoning` and `return_control` are offered as MCP tools with a description and examples."
    ),
    "R31": (
        "The control tools only return typed directives, kept on the tool result; the engine does the switch, tool "
        "text is never parsed, and a user-role directive needs permission `delegate`."
    ),
    "R32": (
        "Any inline prompt may be delegated to, and several delegations may follow each other in a turn, one "
        "specialist at a time."
    ),
    "R33": "The user receives each intermediate message as it is produced, clearly marked as such.",
    "R34": (
        "Cleaning up intermediate messages is `compact` with strategy concat, summarize, distill or drop, and the "
        "originals stay readable and restorable."
    ),
    "R35": (
        "A compaction record names its sources, result, strategy, origin, model, prompt template and version, and the "
        "measured tokens before and after."
    ),
    "R36": "The final answer can be read apart from the intermediate work, which stays at hand for later refinement.",
    "R37": (
        "A tool can start an independent conversation with its own agent, an optional first message, a parent "
        "reference and `expects_response`, beside delegation."
    ),
    "R38": (
        "Directives live in the domain, switching in the engine and tools at the edges, checked by import contracts; "
        "no call takes an agent override."
    ),
    "R39": (
        'The UI highlights intermediate messages, selects several of them and offers a "Cleanup intermediate" button.'
    ),
    "R40": (
        "Scripted turns show agent tracking, detection on every iteration, automatic marking and the whole path from "
        "delegation through work to return."
    ),
    "R41": (
        "A specialist may delegate further, to depth 3 by default and 5 at most, with at most 8 delegations and one "
        "budget for the whole turn."
    ),
    "R42": (
        "Several specialists can be asked at once and their results come back together, within the limits and the "
        "budget of the turn."
    ),
    "R43": (
        "Finished intermediate spans can be distilled into one message by a model automatically, with a record of the "
        "sources."
    ),
    "R44": "Predefined specialists can be chosen by name when delegating.",
    "R45": (
        "The documentation and specialist templates cover multi-agent debate (2305.14325), Self-Refine (2303.17651) "
        "and Chain of Density."
    ),
    # Request parameters
    "R46": (
        "The twelve base request parameters, from `temperature` to `customHeaders`, are optional, immutable and "
        "serialisable, and `extra` passes any others on."
    ),
    "R47": (
        'A set `compressionStrategy` compresses before each request, or with `compress_when="over_budget"` only when '
        "over budget; without a strategy nothing is ever compressed."
    ),
    "R48": (
        "`maxHistorySize` bounds the non-system, unpinned messages up to the current user message, dropping oldest "
        "whole exchanges and nothing that the running turn adds."
    ),
    "R49": (
        "When the estimate of messages, tool schemas and overhead exceeds `maxTokens`, a set strategy runs first, "
        "then the oldest are trimmed, or `TokenBudgetExceeded` says what is required."
    ),
    "R50": (
        "`enableTokenCaching`, true by default, counts each message once; false recounts the tokens every time with "
        "the same result."
    ),
    "R51": "The limits apply in the order `compressionStrategy`, `maxTokens`, `maxHistorySize`.",
    "R52": (
        "`maxTokens` below the tokens of the system prompt raises `InvalidTokenLimit` with both numbers, and equality "
        "is accepted."
    ),
    "R53": (
        "A `maxHistorySize` below 1 raises `InvalidHistorySize`, an `InsufficientHistory` with count 0 and minimum 1 "
        "and a message that names the parameter."
    ),
    "R54": (
        "With fewer non-system messages than the larger of 10 and kept+2, a request skips compression and records it, "
        'while `compress()` or `on_insufficient="raise"` raises `InsufficientHistory`.'
    ),
    "R55": (
        "Plain, chat, streaming and structured requests get the same history treatment, finished before the request "
        "is sent."
    ),
    # Compression strategies
    "R56": (
        "`WholeHistory` replaces everything but system messages, the first user message and memory with one summary."
    ),
    "R57": (
        "`FromLastNMessages(n)` keeps the last n messages word for word and puts one summary in place of all older "
        "ones."
    ),
    "R58": "`Chunked(chunkSize)` puts one summary in place of each run of `chunkSize` messages, in order.",
    "R59": (
        "`FromTimestamp` summarises messages created before an aware cutoff and keeps those at or after it word for "
        "word, in order of sequence."
    ),
    "R60": (
        "`WholeHistoryMultipleSystemMessages` splits the history where the system message changes and summarises each "
        "section by itself."
    ),
    "R61": (
        "A model call of its own writes each summary, which stands where its sources were; system, first user, "
        "memory-flagged messages and open tool calls are kept."
    ),
    "R62": (
        "Callers can add a strategy of their own by implementing the same `compress` interface as the built-in ones."
    ),
    "R63": (
        'Strategies can be given directly in request parameters, on the wire as `{"type": "from_last_n_messages", '
        '"n": 10}` and its four siblings.'
    ),
    # Compression errors
    "R64": (
        "`CompressionError` is closed: `InvalidTokenLimit`, `CompressionFailed` and `InsufficientHistory` (with "
        "`InvalidHistorySize` under it), each with its values as fields."
    ),
    "R65": (
        'The errors read "maxTokens (M) must be >= system prompt tokens (S)", "Compression failed with strategy X: '
        '<cause>" and "Insufficient history: K messages (minimum N required)".'
    ),
    "R66": (
        "Any failure of the summariser is raised as `CompressionFailed` with the strategy and the cause, unless "
        '`on_failure="trim"`, which trims instead and records it.'
    ),
    "R67": "The documentation says for each compression error how to recover from it.",
    # Agent runtime
    "R68": (
        "The runtime of an agent is made on first use from its configuration, is safe for concurrent readers and "
        "writers, and closes with its owner."
    ),
    "R69": (
        "`isRunning()` and `close()` tell and end the running state, using a closed runtime is a clear error, and "
        "compression needs no running agent."
    ),
    "R70": (
        "`requiresHistoryManagement()` is true only if a strategy or a limit is set, and otherwise the history "
        "pipeline does not run."
    ),
    # Converters
    "R71": (
        "Single messages and whole lists convert in both directions between our messages and a model with separate "
        "tool call and tool result messages."
    ),
    "R72": (
        'Outgoing assistant text is followed by one call per tool call, results keep id and tool name (or "unknown"), '
        "and a custom role becomes a user message prefixed `[role] `, never system."
    ),
    "R73": (
        "Incoming calls that share a response id become one assistant message, a missing id becomes `call_<msg>_<i>`, "
        "and results keep role `tool`."
    ),
    "R74": (
        'The placeholder "Calling tools: a, b" appears only for targets without tool support, when a message has '
        "calls and no text."
    ),
    "R75": (
        "Converters carry `created_at` and other metadata both ways, and no conversion invents a timestamp for a "
        "message that has one."
    ),
    "R76": "Converting any list of messages out and back gives an equal list.",
    # History validation
    "R77": (
        "`validate_compression`, `validate_token_limit` and `validate_history_size` are pure functions that raise the "
        "typed history errors."
    ),
    "R78": "All public history types are immutable, and no history error is swallowed.",
    # Instructions
    "R79": (
        "An instruction has a stable `familyId`, an `instructionId` unique to each version, a name, a description and "
        "a semantic `version` that starts at 1.0.0."
    ),
    "R80": "The `type` of an instruction is system, task, behavior or template, and any other value is refused.",
    "R81": (
        "`category` suggests support, coding, analysis and general (the default); another well-formed value of at "
        "most 64 characters is stored with a warning."
    ),
    "R82": "`targetRole` is assistant (the default), analyst or reviewer.",
    "R83": (
        "`content` may hold `systemPrompt`, `guidelines`, hard `constraints` (texts, or objects with `locked`) and "
        "soft `suggestions`, each of them optional."
    ),
    "R84": (
        "`tone`, `language` and `formality` take their suggested values or, with a warning, another well-formed "
        "string of at most 64 characters."
    ),
    "R85": "`content` may hold `doList` and `dontList`, which read back in the order given.",
    "R86": "`content.examples` holds items with `input`, `expectedOutput` and an optional `explanation`.",
    "R87": "`content.steps` holds items with `order`, `name`, `description` and `optional`.",
    "R88": (
        "`usageCount` is computed from active assignments and `averageRating` from ratings of 1 to 5, one per user; "
        "`tags` are kept as given."
    ),
    "R89": (
        "Each version names its predecessor in `parentInstructionId`, says by `isLatestVersion` whether it is the "
        "newest non-draft, and keeps its `changelog`."
    ),
    "R90": (
        "`status` moves from draft through active and deprecated to archived and by restore back to draft; other "
        "organisations may read, assign and copy what is `isPublic`, never edit it."
    ),
    "R91": (
        "`validationRules` takes `maxResponseLength`, `requiredKeywords` and `prohibitedKeywords`; given inside "
        "`content` it moves to the top level, and two different sets are 422."
    ),
    "R92": (
        "`experimentId` and `controlGroup` on an instruction are read-only views of the experiments and their "
        "exposures."
    ),
    "R93": (
        "Each instruction shows `owner`, `createdBy`, `updatedBy`, `createdAt` and `updatedAt`, and the changelog of "
        "every version stays readable."
    ),
    "R94": (
        "A new kind of instruction needs no change of schema, and instructions in several languages and layers can be "
        "combined."
    ),
    "R95": (
        "Many agents share one instruction, and an assignment pinned to `latest` follows its newest active version "
        "without a redeployment."
    ),
    # Agents and assignments
    "R96": (
        "An agent has an `agentId` unique in its organisation, a name, a role, and the older `capabilities` and "
        "`permissions`."
    ),
    "R97": (
        "Reading an agent shows `instructions` with system, task and behavior ids as a projection of its assignments, "
        "and creating one may set them."
    ),
    "R98": (
        "An assignment defaults to `priority` 100, active and `pin` latest; disabling a locked constraint without "
        "`constraint:override` is 403, one that matches nothing 422."
    ),
    # Instruction endpoints
    "R99": (
        "`POST /api/instructions` answers 201 with the whole instruction, `instructionId` and `familyId` included, "
        "active unless its status says otherwise."
    ),
    "R100": "`GET /api/instructions` lists instructions filtered by `type`, `category` and `status`.",
    "R101": "`GET /api/instructions/:id` reads the head of a family, or exactly the version whose id is given.",
    "R102": (
        "`PUT /api/instructions/:id` merge-patches `content` into a new version with a given or computed bump; a "
        "stale `If-Match` is 412 and an unchanged body creates nothing."
    ),
    "R103": (
        "`DELETE /api/instructions/:id` hides a family or archives one version; a family in use is 409 "
        "`instruction_in_use` unless `?force=true` deactivates its assignments."
    ),
    "R104": "`GET /api/instructions/:id/versions` lists every version of the family.",
    "R105": (
        "`POST /api/instructions/:id/restore/:versionId` appends a new patch version with the old content and "
        "`restoredFrom`."
    ),
    "R106": (
        "`POST /api/instructions/:id/test` renders the prompt without a model or runs and checks it, works on drafts "
        "and writes no conversation."
    ),
    "R107": (
        "`POST /api/agents/:agentId/instructions` assigns an instruction with its priority, pin and customizations "
        "and answers 201."
    ),
    "R108": (
        "`GET /api/agents/:agentId/instructions` lists the assignments of an agent, each with its `resolvedVersion`."
    ),
    "R109": (
        "`PUT /api/agents/:agentId/instructions/:instructionId` changes priority, `isActive` or customizations of an "
        "assignment."
    ),
    "R110": "`DELETE /api/agents/:agentId/instructions/:instructionId` removes an assignment and answers 204.",
    "R111": (
        "`GET /api/agents/:agentId/instructions/effective` answers with the merged instructions, the source of every "
        "item and the conflicts, and no id shadows the route."
    ),
    "R112": "`GET /api/instructions/templates` lists templates by `role` and `category`, and no id shadows the route.",
    "R113": (
        "`POST /api/instructions/from-template/:templateId` overrides content fields, fills declared `{{name}}` "
        "variables literally, refuses other keys with 422 and records the template and its version."
    ),
    "R114": (
        "`POST /api/instructions/experiments` splits agents between two versions by `splitRatio` in (0,1) for some "
        "days, sticky per conversation; one may run per agent and family."
    ),
    "R115": (
        "`GET /api/instructions/experiments/:experimentId/results` gives for each arm its units and metrics, and the "
        "differences with intervals, p-values and a sample-ratio check."
    ),
    "R116": "`POST /api/agents` creates an agent from `agentId`, `name` and `role` and answers 201.",
    "R117": "`POST /api/executions` accepts a graph of steps and answers 202 with an `executionId`.",
    # Effective instructions
    "R118": (
        "The merge goes system, task, behavior, then lower priority number; prompts and lists are joined without "
        "duplicates, steps renumbered, scalars taken from behavior first."
    ),
    "R119": (
        "Only active assignments of active or, with a warning, deprecated versions are merged; customizations add "
        "guidelines and remove unlocked constraints only."
    ),
    "R120": (
        "The Vietnamese support agent, the five-step code review with emoji keywords and the bilingual behavior merge "
        "to the expected result, text unharmed."
    ),
    # Executions
    "R121": (
        "An execution has `category`, `type`, `resourceType`, `resourceId` and steps with `index`, `name`, `command` "
        "and `dependsOn`; an unknown index, itself or a cycle is 422."
    ),
    "R122": (
        "Only allowed commands run, and `agent.execute` takes its instructions from `agent.loadInstructions` by a "
        "`$from` reference, or by itself when `data.instructions` is empty."
    ),
    "R123": (
        "The worker applies the instructions it is sent; a failed required step skips its dependants and fails the "
        "execution, an optional one does not, and a step is retried at most 3 times."
    ),
    # Instruction storage
    "R124": (
        "The instruction table has its indexes, with `instructionId` and (familyId, version) unique and one latest "
        "version per family."
    ),
    "R125": (
        "The assignment table is unique on agent and instruction and indexed by agent and priority and by instruction."
    ),
    # Instruction delivery
    "R126": "A fresh installation offers a library of templates for support, coding and analysis.",
    "R127": (
        "The published OpenAPI describes the bodies to create, update and query, and the curl walk-through from two "
        "instructions to the effective result runs as documented."
    ),
    "R128": (
        "A documented example shows guidance per agent, version control, reuse, A/B tests and a change of prompt "
        "without redeployment."
    ),
    "R129": (
        "Every version tells who changed what and when, and the final answer is checked against `validationRules` in "
        "mode report (default), retry once or block."
    ),
    # The planning pipeline
    "R130": (
        "A user turn runs the guardian, one forced `analyse_user_request`, one synthetic assistant message and the "
        "route, and on normal the agent goes on with its other tools."
    ),
    "R131": "The planning tool is a pure function from arguments to a plan and causes no effect of its own.",
    "R132": (
        "Planning forces `analyse_user_request` as the only tool and falls back to `required`, a JSON schema, then "
        "auto with one re-ask, as the capabilities of the model say."
    ),
    "R133": (
        "The plan is read leniently from the tool-call arguments; a missing or unusable one is asked for once more "
        "and then replaced by a plan with `degraded: true`."
    ),
    "R134": (
        "A turn keeps `sgr_plan` and `guardian_result`, and a turn that the guardian blocks also `blocked` true and "
        '`block_reason` "guardian_unsafe".'
    ),
    "R135": "No later request to a model contains the planning tool call or its tool result.",
    "R136": (
        "The synthetic message is one assistant message of `## Analysis` and `## Response` with `sgr_injected`, "
        "`sgr_action` and `sgr_turn`, and a user-role `<turn_directive>` tail follows it."
    ),
    "R137": "Analysis and response never appear as two assistant messages in a row.",
    "R138": "After the plan the tool is gone until the next user message, and a turn has exactly one plan.",
    "R139": (
        "The user sees the bold intent prefix, the intent and the response, of `ui` type `sgr_response` or after a "
        "normal plan `answer`; a guardian block shows no intent."
    ),
    "R140": (
        "What the plan tells the user is sent before routing: block and guardian_block stop, clarify waits for the "
        "user, normal goes on streaming."
    ),
    # Visibility
    "R141": (
        "A plan yields three outputs: analysis and response for the model, intent and response for the user, raw plan "
        "and verdict for the record alone."
    ),
    "R142": (
        "Each field reaches exactly the readers of the visibility matrix, and every template renders each non-empty "
        "field that the model may see."
    ),
    "R143": "The record of a planned turn always holds both the guardian result and the plan.",
    # The plan
    "R144": "`SGRAction` is normal, clarify, block or guardian_block, and its value is the name of the template.",
    "R145": (
        'The plan fields stand in reasoning order, each description starts with "REASONING STEP N", and the schema '
        "text names the four duties."
    ),
    "R146": "`spam_score` is a required number from 0.0 to 1.0 whose description explains its four ranges.",
    "R147": (
        "`spam_reason` is required, written in the configured answer language, and above 150 characters cut at a word "
        "and named in `truncated`."
    ),
    "R148": (
        "`user_intent` is required and above 300 characters cut at a word boundary and named in `truncated` instead "
        "of failing."
    ),
    "R149": (
        "`subqueries` holds up to 10 distinct items, and at least one only when the action is normal and the agent "
        "has a retrieval tool."
    ),
    "R150": "`action_plan` holds up to 10 steps and is empty by default.",
    "R151": (
        "`intent_confidence` is a required number from 0.0 to 1.0, labelled Low under 0.6, Medium under 0.8 and High "
        "from there."
    ),
    "R152": "`uncertainties` holds up to 5 items, is empty by default and is shown whenever it is not empty.",
    "R153": (
        "The route is the stricter of the routing table and the action of the model, whose guardian_block counts as "
        "block unless the level is Controversial or Unsafe; both are stored."
    ),
    "R154": "`clarification_question` is optional, at most 300 characters, and used only when the action is clarify.",
    "R155": (
        "The plan schema has no `ask_for_clarification` and no `template_hint`, and guard categories come from the "
        "guardian alone."
    ),
    "R156": (
        "`topic` and `category` may be given; otherwise they are the first 5 content words of the intent and a "
        'keyword match or "general".'
    ),
    # Plan templates
    "R157": (
        "The normal template shows topic, intent, category, validity, confidence, subqueries and the numbered plan, "
        "and responds with `sgr_normal_response`."
    ),
    "R158": (
        "The clarify template shows the intent as not completely understood with its uncertainties, and responds with "
        "intro, question and outro."
    ),
    "R159": (
        'The block template shows "Off-topic or spam request", the reason and the configured product name, and '
        "responds with `sgr_spam_response`."
    ),
    "R160": (
        'The guardian_block template shows "Request blocked by safety policy" with the guard categories, and the user '
        "sees `sgr_guardian_response` only."
    ),
    "R161": (
        "Templates may use the plan fields, topic, category, guard categories, product name and texts as variables; "
        "any other name fails on loading."
    ),
    "R162": (
        "Subqueries render comma-separated, the action plan numbered, uncertainties as bullets, and an empty list as "
        "nothing."
    ),
    "R163": (
        "`render_sgr_template` returns analysis, response and full text apart; `extract_response_section` takes the "
        "last line-anchored heading, else the whole text."
    ),
    # Texts
    "R164": (
        "Every locale has the seven texts from `sgr_normal_response` to `guardian_refusal_unsafe`, which is checked "
        "at start."
    ),
    "R165": (
        "`get_text(key, **params)` answers in en and ru at least, falls back to en and then to the key, and has the "
        'prefix "How I understood your request:".'
    ),
    # The guardian
    "R166": (
        "A guardian result has a level Safe, Controversial or Unsafe and `categories`, and exactly one verdict line "
        "is accepted."
    ),
    "R167": (
        "The guard settings choose enabled, mode, provider, addresses, a timeout of 5 s per try and 1 retry, within 8 "
        "s overall, and retry transport errors and 5xx alone."
    ),
    "R168": "A guard client offers `classify(message)` and `should_block(result)`.",
    "R169": "With the guardian disabled the result is None, the level is N/A and the turn goes on.",
    "R170": (
        "Unsafe in enforce mode refuses at once as `guardian_block`, without a plan; the UI keeps the original text, "
        "and models later see a placeholder and the refusal."
    ),
    "R171": (
        "Unsafe in report mode, and Controversial in any mode, go on to planning with the guardian assessment, and "
        "may be routed to guardian_block or clarify."
    ),
    "R172": "A Safe message goes on to planning and no guardian assessment appears in any prompt.",
    "R173": (
        "For Controversial and Unsafe one `<guardian_assessment>` block with risk level, categories and guidance "
        "joins the dynamic tail, with still a single system message."
    ),
    "R174": (
        "Scripted turns show enforce blocking without a plan, report passing the assessment on, and Safe giving a "
        "clean injection."
    ),
    # Decision tables
    "R175": (
        "DT-001 blocks Unsafe in enforce, goes on with the assessment for Unsafe in report and Controversial, goes on "
        "for Safe, and for Unknown follows `on_error` or, in report, flags it."
    ),
    "R176": (
        "DT-002 routes by the first match: Unsafe to guardian_block, spam of 0.7 or more to block, confidence under "
        "0.6 to clarify, the rest to normal."
    ),
    "R177": (
        "DT-003 binds and forces the planning tool on each new user message and unbinds it for the rest of the turn."
    ),
    "R178": (
        "DT-004 gives analysis and response to the model, the response alone to the UI, and all four outputs to the "
        "record."
    ),
    "R179": (
        "Every decision table is data with inputs, outputs and hit policy, can be run row by row, and names the row "
        "that fired."
    ),
    # Planning in practice
    "R180": (
        "Template rendering and response extraction are tested alone, and whole turns show the trace absent, the "
        "synthetic message present and the tool unbound."
    ),
    "R181": (
        "Clean injection can be compared with formatted and raw tool results in an experiment, switched by a setting "
        "and rolled out by percentage."
    ),
    "R182": (
        "Plan-to-answer consistency, trace leaks, token and latency cost, ratings and apology loops are measured for "
        "planned turns."
    ),
    "R183": "Plan templates can contain conditional sections without running code from the template.",
    "R184": "Plan templates can be loaded from configuration and edited by an admin, and are checked when saved.",
    "R185": (
        "Rendering a plan returns analysis and response as separate values, and the product never parses them back "
        "out of text."
    ),
    "R186": "The documentation explains the planning architecture, clean injection and why the tool trace is removed.",
    "R186a": (
        "Headings and role markers inside user-derived values of a synthetic message are neutralised, and stored "
        "synthetic messages carry a mark no client can set."
    ),
    # What joining the parts forces
    "R187": (
        "A directive is a tag on a message and an instruction a governed document; no name mixes the two words but the "
        "field of a message that holds its directives, `instructions`, as clients know it."
    ),
    "R188": (
        "One assembler builds every request from labelled segments in a fixed order, static first, and records "
        "source, tokens and hash of each one."
    ),
    "R189": (
        "Guardian and plan run once per user turn, before the first call of the main agent, and a specialist never "
        "has `analyse_user_request`."
    ),
    "R190": (
        "Space is freed in the order intermediate spans, old plan analyses, tool payloads, old exchanges; earlier "
        "turns keep only the response of their plan."
    ),
    "R191": (
        "Compression, squash, cleanup and deletion leave stored messages untouched and create a new view with "
        "provenance; undo switches the view back, and a stale commit is refused."
    ),
    "R192": (
        "Whatever removes or summarises messages keeps each tool call together with its results, and open calls "
        "survive with their ids."
    ),
    "R193": (
        "Each turn records the instruction versions and the experiment arm that served it, and can be replayed with "
        "other versions and compared."
    ),
    "R194": (
        "Everything stored carries an owner with `orgId`, `userId` and `groupId`, and another organisation reaches it "
        "only if it is public."
    ),
    "R195": "Every provider request has exactly one system message, and it comes first.",
    "R196": (
        "The last message of a provider request has role user or tool, unless the model supports prefill and is "
        "configured to use it."
    ),
    "R197": (
        "A capability record for each model says which tool forcing, parallel tools, prefill, system messages, schema "
        "keywords and window it has, and fallbacks follow it."
    ),
    "R198": (
        "Re-asks and guard, compression and step retries count against the token and iteration budgets of the turn "
        "and are recorded."
    ),
    "R199": "Vietnamese, Russian and emoji text is stored, matched, cut and counted without harm.",
    "R200": "Every failure is a typed error with a machine-readable code that maps to one HTTP status.",
    # Faults
    "F1": (
        "After `kill -9` at any fault point of a turn nothing acknowledged is lost, the turn ends, a keyed tool acts "
        "once, and an un-keyed one at most once with `outcome_unknown` shown."
    ),
    "F2": (
        "Kills during recovery, three deep, keep the same promises, and after 5 attempts the turn ends as "
        "`failed(recovery_exhausted)`."
    ),
    "F3": (
        "A paused process that wakes after a takeover writes nothing; PostgreSQL takes over within 40 s, and a second "
        "process on one SQLite file is refused at start."
    ),
    "F4": "Rolling restarts with two overlapping server processes cause no duplicate effect and leave no turn stuck.",
    "F5": (
        "PostgreSQL stopped and restarted under load loses nothing acknowledged, answers 503 with Retry-After, never "
        "500, and serves again within 2 s of its return."
    ),
    "F6": (
        "Cut, stalled or exhausted PostgreSQL connections lose nothing, keep request deadlines to within 1 s and leak "
        "no connection."
    ),
    "F7": (
        "With a full disk reads work, writes answer 507, nothing acknowledged is lost, and writing resumes without a "
        "restart when space returns."
    ),
    "F8": (
        "A foreign lock on SQLite held for up to 5 s is not noticed by users and then gives 503; with 64 producers "
        "the p99 of the commit wait is at most 100 ms."
    ),
    "F9": (
        "Each of 12 provider faults at each of 6 call sites gives its documented typed result within 3 retries and "
        "the deadline; 401 and 402 are never retried and each attempt is recorded."
    ),
    "F10": (
        "A provider stream cut anywhere never runs a truncated tool call, and its partial text is stored as "
        "`incomplete`."
    ),
    "F11": (
        "Malformed model output crashes nothing, is repaired by at most one re-ask, and then gives the degraded plan."
    ),
    "F12": (
        "In enforce mode no text reaches a model without a valid verdict (503 `guard_unavailable`); report goes on "
        "with `guard_status=unavailable`; unknown is never Safe."
    ),
    "F13": "Clock jumps change no order, steal or keep no lease wrongly, and expiry fails closed by database time.",
    "F14": (
        "50 concurrent requests with one `Idempotency-Key` act once; the others replay with `Idempotent-Replayed: "
        "true` or get 409, another body 422, and organisations do not share keys."
    ),
    "F15": (
        "Of concurrent turns on one conversation one runs and the others get 409 `turn_in_progress` or wait in a "
        "queue of at most 8, and none is lost."
    ),
    "F16": (
        "Of concurrent edits with `If-Match` one succeeds and the others get 412; without it each success is its own "
        "version, with one head, no gap and no 5xx."
    ),
    "F17": (
        "A running turn keeps its pinned version and hash; new turns use a published head at once, within 1 s in "
        "other processes, and a removed label is 404 within 1 s."
    ),
    "F18": (
        "A client that disconnects loses nothing: the answer is stored, `Last-Event-ID` resumes with identical bytes, "
        "and a slow reader is dropped beyond 1 MB with a resume token."
    ),
    "F19": (
        "After a crash between a tool call and its result the next turn succeeds, and every provider payload has "
        "matched pairs."
    ),
    "F20": (
        "A cancelled turn ends within 2 s and starts no effect after the acknowledgement; SIGTERM exits within 5 s, "
        "leaving running work recoverable."
    ),
    "F21": (
        "Every provider call has an attempt row before it leaves, recorded usage equals what was billed, and attempts "
        "lost in a crash are marked `orphaned`."
    ),
    "F22": (
        "Verifying the log detects every edit, deletion, reordering, cut tail and swap of conversations, at 50,000 "
        "rows a second or more."
    ),
    "F23": (
        "The exact model input of every stored turn is rebuilt from the log with an identical hash, also after "
        "compaction, delegation, restart and upgrade."
    ),
    "F24": (
        "A migration from each released schema loses nothing and resumes after a kill, and an old binary refuses a "
        "newer schema."
    ),
    "F25": (
        "A backup taken while writing restores to a copy that verifies and holds all that was acknowledged before the "
        "backup began."
    ),
    # Load and memory
    "L1": (
        "On SQLite 200 streaming conversations run at 60 turns a second or more, with at most 150 ms p99 overhead on "
        "the first token and no errors."
    ),
    "L2": (
        "On PostgreSQL with 16 connections the same load holds, and two processes do at least 1.5 times the work of "
        "one."
    ),
    "L3": (
        "Memory stays within 300 MB under that load and grows at most 5 % in 30 minutes, with open files and threads "
        "flat."
    ),
    "L4": (
        "Building the prompt of a 10,000-message conversation takes at most 200 ms p99 and 50 MB, and a log of a "
        "million rows slows a turn at most 1.5 times."
    ),
    "L5": (
        "Effective instructions are served at 300 requests a second or more with p99 within 50 ms, and 1,000 "
        "assignments merge within 50 ms."
    ),
    "L6": (
        "Under twice the load the excess gets 429 or 503 within 100 ms, accepted turns take at most twice as long, "
        "and nothing is lost."
    ),
    "L7": "One organisation at ten times its limit moves the p99 of another by at most 25 %.",
    # Bad input
    "B1": (
        "Schemathesis with all checks and stateful links finds no failure in any operation of the OpenAPI, on both "
        "databases."
    ),
    "B2": (
        "Random sequences of appends, delegations, compactions, crashes and concurrent writers keep the log "
        "append-only, gapless, paired and replayable."
    ),
    "B3": (
        "Merging random instructions is deterministic, totally ordered and idempotent, never loses a locked "
        "constraint, and refuses unknown keys."
    ),
    "B4": (
        "Over all enum values and boundary numbers, NaN, infinities and missing values included, exactly one row of "
        "each decision table fires."
    ),
    "B5": "No input makes any of the 13 parsers fail uncaught, take over 1 s or use over 64 MB.",
    "B6": (
        "Hostile Unicode in any field gets the same status on both databases, never 500, and legal text reads back "
        "byte for byte."
    ),
    "B7": (
        "A body over 1 MB is 413 before parsing, depth over 32 is 400, and too many keys or headers, gzip bombs, slow "
        "bodies and huge format widths are refused."
    ),
    "B8": "Duplicate keys, NaN, Infinity, 5,000-digit integers, a byte order mark and trailing bytes in JSON are 400.",
    # Attacks
    "S1": (
        "Every operation refuses every kind of wrong credential with 401, 403 or 404, and an object of another "
        "organisation looks exactly like an absent one."
    ),
    "S2": (
        "Foreign ids in bodies, filters, experiments, parents, templates, dependencies and cursors are 404, and "
        "nothing is stored."
    ),
    "S3": "Server-owned fields such as `orgId`, `owner`, `usageCount` or `id` in a body are 422.",
    "S4": "Another organisation reads the published fields of a public instruction and nothing else of it.",
    "S5": (
        "What the owner does to a public instruction leaves a using organisation on its pinned version and hash, with "
        '"update available" shown.'
    ),
    "S6": (
        "Disabling a locked constraint without `constraint:override` is 403; locked constraints always render, last, "
        "and an override leaves an audit row."
    ),
    "S7": (
        "On `/api` clients cannot send roles, directives, plans, verdicts or marks (422; a directive takes "
        "`delegate`); on `/v1` they are untrusted history, never instructions."
    ),
    "S8": (
        "Headings, tags and chat markers in user or tool text change neither state nor outputs: the UI text equals "
        "the response field and no analysis leaks."
    ),
    "S9": (
        "Headings, tags and chat markers in plan fields written by a model are rendered escaped, and the route still "
        "comes from the table."
    ),
    "S10": (
        "Templates take declared simple names only, anything else is 422 on saving, and output stays within its "
        "declared size."
    ),
    "S11": "No flag, header, mode, arm, background or dry-run path reaches a model without a guard verdict.",
    "S12": (
        "In enforce mode no unsafe character is streamed, also across chunks, in tool arguments or from a specialist, "
        "and the turn is stored as blocked."
    ),
    "S13": "Quoted, doubled, translated or differently cased verdict lines count as a guard failure, never as Safe.",
    "S14": (
        "Prohibited keywords catch at least 80 % of disguised words with no false hit on the clean set, and are "
        "documented as best effort."
    ),
    "S15": "Keyword lists and patterns of users match in at most 10 ms per 100 KB.",
    "S16": (
        "A specialist gets no tool its parent lacks, cannot drop constraints or choose its model, and only built-in "
        "tools may change control."
    ),
    "S17": (
        "Delegation loops end within depth 3, 8 delegations and 50 iterations per turn by a forced return with a "
        "reason, and the main agent answers."
    ),
    "S18": (
        "A budget is reserved before each call and checked again on each fallback, so that loops, retries and races "
        "overrun it by one call at most."
    ),
    "S19": (
        "Forty forms of internal address, redirects and DNS rebinding are refused unless the operator allows the "
        "host, and the checked address is the one connected to."
    ),
    "S20": "Changing the URL of a provider erases its stored key, and a test uses only the saved pair.",
    "S21": (
        "MCP tools cannot take reserved or foreign names, a changed description disables the tool until approved "
        "again, and tenants cannot start stdio servers."
    ),
    "S22": (
        "Planted secrets appear in no log, trace, row, stream, export or exception outside their encrypted column; "
        "our own keys are stored as hashes."
    ),
    "S23": (
        "Malformed, guessed and revoked API keys are 401 in constant time, and a revocation takes effect within 1 s, "
        "5 s in other processes."
    ),
    "S24": (
        "Beyond the limit of an organisation or key requests get 429 with Retry-After, whatever the forwarded address "
        "or the clock, within 5 % of the limit."
    ),
    "S25": (
        "Injected SQL in filters, sorts and cursors and tricks in paths are 400 or 404, and no SQL is built from input."
    ),
    "S26": "Text in the UI is escaped, the content policy allows own sources only, and remote images are not loaded.",
    "S27": (
        "The API takes bearer credentials and no cookie, binds to 127.0.0.1 by default, and refuses other addresses "
        "while authentication is off."
    ),
    "S28": (
        "No answer, error or dry run shows system text without `instruction:read`, and saving a prompt that contains "
        "a secret warns."
    ),
    "S29": (
        "Experiment arms follow from an HMAC with a secret, results stay in their organisation, and only outcomes "
        "seen by the server count."
    ),
    "S30": (
        "An imported bundle is plain JSON of at most 5 MB, with unknown fields and types refused and nothing in it "
        "executed."
    ),
    "S31": (
        "A summary is marked derived and untrusted, and the system frame is rebuilt from instructions, never from a "
        "summary."
    ),
    "S32": (
        "Deleted or edited audit rows are detected by verification, and an erasure leaves a tombstone with its hash."
    ),
}

NOT_YET_BUILT: dict[str, str] = {}
"""What waits, by id, and why. When a feature lands, its ids leave in the change that brings their tests."""
