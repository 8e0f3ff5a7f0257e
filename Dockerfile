# A speech server for a bundle on the host:
#   docker build -t kokoro-server .
#   docker run -p 8880:8880 -v "$PWD/bundles/kokoro:/bundle:ro" kokoro-server
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY runtime_min runtime_min
COPY kokoro_server kokoro_server
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY constraints.txt /tmp/
COPY --from=build /wheels /wheels
RUN for wheel in /wheels/*.whl; do \
        pip install --no-cache-dir --constraint /tmp/constraints.txt "$wheel[espeak,server]"; \
    done
# The server writes nothing but temporary files.
RUN useradd --system --uid 10001 --no-create-home kokoro
USER 10001
# HTTP, and Wyoming if it is asked for: docker run ... -p 10200:10200 kokoro-server --wyoming-port 10200
EXPOSE 8880 10200
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8880/health', timeout=4)"]
ENTRYPOINT ["kokoro-server", "/bundle", "--host", "0.0.0.0"]
