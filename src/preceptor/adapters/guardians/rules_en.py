"""The embedded guardian's rules for English."""

# ruff: noqa: RUF001 - these letters are meant

from preceptor.adapters.guardians.rule_book import (
    ILLEGAL,
    JAILBREAK,
    PII,
    SELF_HARM,
    SEXUAL,
    UNETHICAL,
    VIOLENT,
    Rule,
    Script,
)
from preceptor.domain.reasoning.verdict import Level

_HOW = (
    r"how (?:do|can|could|would|should|to|i can|you can|one can)|(?:instructions?|recipe|steps?|guide|"
    r"tutorial) (?:for|to|on)"
    r"|teach me|show me|tell me|help me|explain|best way to|easiest way to|way to|ways to|methods? (?:of|to|for)"
)
_MAKE = r"make|makes|making|build|building|assemble|construct|create|cook|cooking|synthesi[sz]e|produce|manufacture"
_EXCUSE = (
    r"prevent|protect|detect|recogni[sz]|avoid|against|report|defus|disarm|dispos|remov|stop|survive|victim|treat|"
    r"recover|"
    r"filter|scan|defend|museum|documentary|costume|cake"
)
_PERSON = (
    r"someone|somebody|a person|people|my (?:wife|husband|neighbou?r|boss|teacher|brother|sister|mother|father|"
    r"parents|"
    r"classmate|coworker|ex|girlfriend|boyfriend)|him|her|them|a (?:child|woman|man|girl|boy)|an? (?:human|"
    r"police officer)"
)

ENGLISH = (
    Rule(
        "en-weapon",
        "bomb explosive grenade napalm molotov nerve sarin ricin anthrax weapon gun ied",
        VIOLENT,
        Level.UNSAFE,
        Script.LATIN,
        r"(?<!bath )(?<!seed )(?<!fork )(?<!photo )(?<!glitter )(?<!cherry )(?<!paint )(?<!cocoa )(?<!chocolate )"
        r"(?:(?:pipe|nail|car|dirty|home ?made|fertili[sz]er|petrol|nuclear) )?bombs?"
        r"(?! (?:sprite|icon|animation|calorimeter|cyclone|shelter|disposal|detect|squad|threat|model|in unity|"
        r"in scratch))"
        r"|(?:plastic )?explosives?(?: device)?|hand grenades?|napalm|molotov(?: cocktails?)?|nerve (?:gas|agents?)|"
        r"sarin|ricin|"
        r"anthrax|(?:chemical|biological) weapons?|ghost guns?|ied",
        rf"(?:{_HOW})(?: \w+){{0,3}} (?:{_MAKE}|detonate|plant)|(?:recipe|instructions?|blueprints?) (?:for|to|of)",
        _EXCUSE,
    ),
    Rule(
        "en-kill",
        "kill murder poison assassinate strangle stab shoot",
        VIOLENT,
        Level.UNSAFE,
        Script.LATIN,
        rf"(?:kill|murder|poison|assassinate|strangle|stab|shoot) (?:{_PERSON})",
        rf"{_HOW}|i (?:want|plan|am going|intend) to|i will",
        rf"{_EXCUSE}|time|chess|character|metaphor|with kindness",
    ),
    Rule(
        "en-drugs",
        "meth heroin fentanyl cocaine mdma ecstasy lsd",
        ILLEGAL,
        Level.UNSAFE,
        Script.LATIN,
        r"(?:crystal )?meth(?:amphetamine)?|heroin|fentanyl|(?:crack )?cocaine|mdma|ecstasy pills?|lsd",
        rf"(?:{_HOW})(?: \w+){{0,3}} (?:{_MAKE}|smuggle|sell)|(?:recipe|instructions?) (?:for|to)",
        rf"{_EXCUSE}|quit|addict|withdraw|rehab",
    ),
    Rule(
        "en-fraud",
        "steal clone launder forge fake hack",
        ILLEGAL,
        Level.UNSAFE,
        Script.LATIN,
        r"(?:steal|clone) (?:a |an |the |someone(?:'|’)?s? |other people(?:'|’)?s? |my \w+(?:'|’)?s? )?"
        r"(?:credit cards?|identit(?:y|ies)|passwords?|bank accounts?|money)|launder(?:ing)? money|"
        r"money laundering scheme|"
        r"(?:forge|fake) (?:a |an )?(?:passport|id card|signature|prescription|banknotes?)|"
        r"hack (?:into )?(?:a |an |the |someone(?:'|’)?s? |my \w+(?:'|’)s )(?:\w+ )?(?:account|e-?mail|bank|phone|"
        r"wifi|server|computer)",
        rf"{_HOW}|i want to",
        rf"{_EXCUSE}|secur|from being|if someone|hacked",
    ),
    Rule(
        "en-malware",
        "ransomware keylogger virus malware trojan botnet phishing",
        ILLEGAL,
        Level.UNSAFE,
        Script.LATIN,
        r"ransomware|keyloggers?|computer virus(?:es)?|malware|trojan(?: horse)?|botnets?|phishing (?:e-?mails?|"
        r"pages?|sites?)",
        r"(?:write|create|make|build|develop|code|program|deploy|spread)(?: me)?(?: some| a| an| my)?(?: \w+){0,2}?",
        rf"{_EXCUSE}|aware|train|removal|anti|sample",
    ),
    Rule(
        "en-child-abuse",
        "child kiddie underage preteen minor kid schoolgirl",
        SEXUAL,
        Level.UNSAFE,
        Script.LATIN,
        r"(?:child|kiddie|underage|preteen) (?:porn\w*|nudes?|erotica|sex videos?)|"
        r"(?:nude|naked|sexual|erotic) (?:photos?|pictures?|images?|videos?|stor(?:y|ies)) (?:of|about|"
        r"with) (?:an? )?"
        r"(?:\w+ )?(?:child|children|minors?|kids?|preteens?|schoolgirls?)",
        "",
        rf"{_EXCUSE}|combat|fight|ban",
    ),
    Rule(
        "en-suicide-method",
        "myself suicide life overdose",
        SELF_HARM,
        Level.UNSAFE,
        Script.LATIN,
        r"kill myself|commit suicide|end my (?:own )?life|hang myself|overdose on \w+|cut myself",
        _HOW,
        r"prevent|stop|help (?:a|my) friend|not |avoid|someone who|talk",
    ),
    Rule(
        "en-suicide-wish",
        "myself suicide life live",
        SELF_HARM,
        Level.CONTROVERSIAL,
        Script.LATIN,
        r"kill myself|end my (?:own )?life|commit suicide|hurt myself|(?:do not|don(?:'|"
        r"’)?t) want to live(?: anymore)?",
        r"i(?: really)?(?: just)? (?:want|wanted|wish|plan|am going|will|think about|am thinking)(?: to| of| about)?|"
        r"i|going to",
        r"laugh",
    ),
    Rule(
        "en-hate",
        "kill exterminate gas rid wipe",
        UNETHICAL,
        Level.UNSAFE,
        Script.LATIN,
        r"(?:kill|exterminate|gas|get rid of|wipe out) (?:all |the |every )+(?:jews?|muslims?|christians?|blacks?|"
        r"gays?|immigrants?|"
        r"women|asians?|roma|gypsies)",
        "",
        r"prevent|against|stop|histor|never|why did|nazi",
    ),
    Rule(
        "en-doxxing",
        "address number dox",
        PII,
        Level.CONTROVERSIAL,
        Script.LATIN,
        r"(?:home address|private phone number|social security number|passport number) of (?!my\b|our\b)\w+|"
        r"dox(?:x)? (?:someone|him|her|them)",
        r"find|get|give me|look up|tell me|how (?:do|can|to)",
        r"company|office|business|protect|prevent",
    ),
    Rule(
        "en-jailbreak",
        "instruction rules prompt guideline restriction direction programming",
        JAILBREAK,
        Level.CONTROVERSIAL,
        Script.LATIN,
        r"(?:all |any |your |the |my )*(?:previous|prior|above|earlier|system|safety|original) (?:instructions?|"
        r"rules|prompts?|"
        r"guidelines|restrictions|directions)|your (?:instructions|rules|restrictions|guidelines|programming)",
        r"ignore|disregard|forget|override|bypass|reveal|print|repeat|leak",
        r"how do companies|defend|prevent|paper|article",
    ),
    Rule(
        "en-persona",
        "do anything now mode without any",
        JAILBREAK,
        Level.CONTROVERSIAL,
        Script.LATIN,
        r"(?:do anything now|dan mode|developer mode enabled|jailbreak mode|without any (?:restrictions|filters|"
        r"rules|limitations))",
        r"you are(?: now)?|act as|pretend|enter|enable|answer|respond|behave",
    ),
)
