"""Serves a bundle over HTTP with the requests and answers of OpenAI's speech API, and over Wyoming.

    python -m kokoro_server BUNDLE --port 8880

It is built on starlette, uvicorn and PyAV, and uses the runtime's public API only.
"""
