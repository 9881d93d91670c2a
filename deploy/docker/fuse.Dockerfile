# The client of mounts alone, `pf-fuse`, for who mounts without a driver: it reads its settings from the standard input.
# Build from the project's folder: docker build -f deploy/docker/fuse.Dockerfile -t paddleflow/fuse .

FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/paddleflow
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv==0.13.8
WORKDIR /src
# The dependencies change less often than the code, so they are a layer of their own.
COPY pyproject.toml uv.lock README.md ./
COPY client/pyproject.toml client/README.md client/
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-workspace --extra backends --extra fuse
COPY backends backends
COPY client client
COPY fuse fuse
COPY services services
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --extra backends --extra fuse

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="PaddleFlow mount client" org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates fuse3 python3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/paddleflow /opt/paddleflow
COPY LICENSE /opt/paddleflow/LICENSE
ENV PATH=/opt/paddleflow/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1
USER 10001:10001
ENTRYPOINT ["pf-fuse"]
