# One image for every service; the command chooses which: `pf-queue`.
# Build from the project's folder: docker build -f deploy/docker/service.Dockerfile -t paddleflow/service .

FROM python:3.13-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/paddleflow
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /src
# The dependencies change less often than the code, so they are a layer of their own.
COPY pyproject.toml uv.lock README.md ./
COPY client/pyproject.toml client/README.md client/
RUN uv sync --frozen --no-dev --no-install-workspace --extra backends --extra tracing
COPY backends backends
COPY client client
COPY fuse fuse
COPY services services
RUN uv sync --frozen --no-dev --no-editable --extra backends --extra tracing

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="PaddleFlow service" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/paddleflow /opt/paddleflow
COPY LICENSE /opt/paddleflow/LICENSE
ENV PATH=/opt/paddleflow/bin:$PATH PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1
# A number, not a name: Kubernetes can only then see that it is not root.
USER 10001:10001
CMD ["pf-queue"]
