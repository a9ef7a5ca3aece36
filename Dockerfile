# One image with both commands, static, and nothing else: no shell, no package
# manager, no user but the one that runs them.
#
#   docker build --build-arg VERSION=1.2.3 -t bulkfiling:1.2.3 .
#
# The build image is pinned by digest: make pin-images updates it.

FROM golang:1.26.8@sha256:0f063af2d465d8dcae54cce04278ada488b96f77b42449c8d071e47d016cc65a AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
# The folders are made here, for there is nothing to make them with below.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/bulkfiling/bulkfiling/internal/metrics.version=${VERSION}" \
      -o /out/ ./cmd/importer ./cmd/worker \
    && mkdir /out/own && mkdir -m 0700 /out/own/data && mkdir -m 1777 /out/own/tmp \
    && cp "$(go env GOROOT)/lib/time/zoneinfo.zip" /out/

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/zoneinfo.zip /
COPY --from=build /out/importer /out/worker /
# A new volume and a tmpfs take owner and mode from the folder that they are mounted
# on. COPY keeps the modes of the folders within the one that it names, not of that
# one itself.
COPY --from=build --chown=65532:65532 /out/own/ /
ENV PATH=/ ZONEINFO=/zoneinfo.zip FILING_DATA_DIR=/data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080 8081
# SIGTERM drains, for FILING_TIMEOUT and ten seconds at most: stop with a longer
# grace than that.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/worker", "healthcheck"]
CMD ["/worker"]
