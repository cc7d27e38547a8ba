"""Do the judges that someone else runs answer, and do they serve the model that will be asked for?"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from foundation.settings.judges import NO_KEY, JudgeSettings

PROBE_TIMEOUT_S = 5.0
MAX_REPLY_BYTES = 1_000_000


def check_endpoints(judge: JudgeSettings) -> list[str]:
    """Ask every endpoint of a judge for its models, all at once; one line for each that fails."""
    if not judge.base_urls:
        return []
    try:
        key = judge.api_key()
    except ValueError as error:
        return [str(error)]
    with ThreadPoolExecutor(max_workers=min(16, len(judge.base_urls))) as pool:
        replies = list(pool.map(lambda url: _probe(url, judge.model, key), judge.base_urls))
    return [
        f"judges.{judge.name}.base_urls[{i}]={shown(url)!r} {reply}"
        for i, (url, reply) in enumerate(zip(judge.base_urls, replies, strict=True))
        if reply is not None
    ]


def shown(url: str) -> str:
    """The URL without user, password and query: what may be printed."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return urllib.parse.urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))


def _probe(base_url: str, model: str, key: str) -> str | None:
    """What is wrong with an endpoint, or None."""
    request = urllib.request.Request(f"{base_url}/models")  # noqa: S310  JudgeSettings admits http and https only
    if key != NO_KEY:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=PROBE_TIMEOUT_S) as reply:  # noqa: S310  as above
            listing = json.loads(reply.read(MAX_REPLY_BYTES))
        served = [str(entry["id"]) for entry in listing["data"]]
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return f"refuses the key (HTTP {error.code}): set api_key_env to the variable that holds the right one"
        return (
            f"answers /models with HTTP {error.code}: give the root of an OpenAI-compatible server, http://host:port/v1"
        )
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) and not isinstance(error, urllib.error.URLError):
            return (
                "does not answer /models with JSON: give the root of an OpenAI-compatible server, http://host:port/v1"
            )
        reason = getattr(error, "reason", error)
        return (
            f"does not answer within {PROBE_TIMEOUT_S:g} s ({reason}): start that server, correct the URL, or "
            "choose judge=toy or judge=cluster to serve the judge in this job"
        )
    except (KeyError, TypeError):
        return "answers /models without a list of models: give the root of an OpenAI-compatible server, http://host:port/v1"
    if model not in served:
        return f"serves {', '.join(served) or 'no model'}, not {model!r}: set judges.<name>.model to one of them"
    return None
