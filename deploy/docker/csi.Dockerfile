# The CSI driver in each of its roles, `pf-csi controller`, `node` and `holder`, and the client of mounts, `pf-fuse`.
# Build from the project's folder: docker build -f deploy/docker/csi.Dockerfile -t paddleflow/csi .

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
LABEL org.opencontainers.image.title="PaddleFlow CSI driver" org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/paddleflow /opt/paddleflow
COPY LICENSE /opt/paddleflow/LICENSE
COPY deploy/docker/keep.sh /usr/local/bin/pf-csi-keep
ENV PATH=/opt/paddleflow/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1
# The controller needs no more; the chart says who is root, and why.
USER 10001:10001
CMD ["pf-csi", "controller"]
