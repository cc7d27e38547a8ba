# The GPU cluster's image: Ray nodes start from it, and `ray job submit` brings the configuration.
#   docker build -t patternrl:0.1.0 .
# Holds no secret: W&B and judge keys come as environment variables of the job.

# CUDA 13.0: verl 0.9.1's flash-attn and cupy extras are for cu130 with torch 2.11. The devel image has the nvcc that
# builds flash-attn.
FROM nvidia/cuda:13.0.1-cudnn-devel-ubuntu22.04 AS build

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# Ubuntu's archive serves one current version; a pin would break the build on its next security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*

# Ubuntu 22.04 has only a release candidate of Python 3.11: uv brings a finished one, with the headers that triton
# compiles against.
COPY --from=ghcr.io/astral-sh/uv:0.8.0 /uv /usr/local/bin/uv
ENV UV_PYTHON_INSTALL_DIR=/opt/python
RUN uv python install 3.11.13 && uv venv --seed --python 3.11.13 /opt/patternrl
ENV PATH=/opt/patternrl/bin:$PATH

# torch first: flash-attn 2.8.3 has no wheel for every torch and imports the installed one while it builds.
# MAX_JOBS bounds its memory: a compiler process takes about 5 GB.
ARG MAX_JOBS=8
RUN pip install --no-cache-dir "setuptools==77.0.3" "wheel==0.45.1" "packaging==25.0" "ninja==1.13.0" "psutil==7.0.0" \
    && pip install --no-cache-dir "torch==2.11.0" \
    && MAX_JOBS=${MAX_JOBS} pip install --no-cache-dir --no-build-isolation "flash-attn==2.8.3"

# The dependencies change less often than the code: a layer of their own.
WORKDIR /src
COPY pyproject.toml ./
# The versions stand in pyproject.toml.
# hadolint ignore=DL3013
RUN mkdir configs foundation trainer reward_workers rollout_workers corpora evaluation launch hydra_plugins \
    && pip install --no-cache-dir ".[gpu]" \
    && pip uninstall --yes patternrl
COPY . .
RUN pip install --no-cache-dir --no-deps .


# vLLM compiles kernels when it starts (triton, flashinfer): the running image needs nvcc and a C compiler too.
FROM nvidia/cuda:13.0.1-cudnn-devel-ubuntu22.04

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates gcc g++ libgl1 libglib2.0-0 libnuma1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 --shell /bin/bash patternrl

COPY --from=build /opt/python /opt/python
COPY --from=build /opt/patternrl /opt/patternrl
ENV PATH=/opt/patternrl/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HF_HOME=/home/patternrl/.cache/huggingface

USER 1000:1000
WORKDIR /home/patternrl
CMD ["python", "-m", "trainer.main", "--help"]
