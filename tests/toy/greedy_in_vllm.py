"""Greedy replies of the shipped models in vLLM, run as a process of its own by test_vllm.py.

python greedy_in_vllm.py MODELS_FOLDER REPLIES_JSON < requests.json

The requests of a model stand under the name of its folder, and so do its replies. A request is
``{"prompt": rendered text, "scene_png": base64 or null}``.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    requests = json.load(sys.stdin)
    # One model after the other in this process (VLLM_ENABLE_V1_MULTIPROCESSING=0): importing vLLM takes the most time.
    out.write_text(json.dumps({name: replies_of(folder / name, requests[name]) for name in requests}))


def replies_of(model: Path, requests: list[dict[str, Any]]) -> list[str]:
    from PIL import Image
    from vllm import LLM, SamplingParams

    engine = LLM(
        model=str(model),
        dtype="float32",
        max_model_len=256,
        max_num_seqs=16,
        enforce_eager=True,
        disable_log_stats=True,
        seed=0,
    )
    prompts: list[Any] = []
    for request in requests:
        prompt: dict[str, Any] = {"prompt": request["prompt"]}
        if request["scene_png"]:
            image = Image.open(io.BytesIO(base64.b64decode(request["scene_png"])))
            prompt["multi_modal_data"] = {"image": image.convert("RGB")}
        prompts.append(prompt)
    replies = engine.generate(prompts, SamplingParams(temperature=0.0, max_tokens=100), use_tqdm=False)
    return [reply.outputs[0].text for reply in replies]


if __name__ == "__main__":
    main()
