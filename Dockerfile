# Two images: gatefold (the last, and so the default) and echo, the backend of
# the examples. Both hold one static program and run as nobody in particular.
# For another CPU (--platform linux/arm64) the build machine's Go compiles, without an
# emulator. A builder that knows no platforms builds for its own.
ARG BUILDPLATFORM
FROM --platform=${BUILDPLATFORM:-linux} golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG COMMIT=
ARG TARGETARCH
RUN CGO_ENABLED=0 GOARCH=${TARGETARCH} go build -trimpath \
      -ldflags "-s -w -X github.com/gatefold/gatefold/server/cli.version=${VERSION} -X github.com/gatefold/gatefold/server/cli.commit=${COMMIT}" \
      -o /out/ . ./examples/echo \
 && mkdir /out/run

FROM scratch AS echo
COPY --from=build /out/echo /usr/local/bin/echo
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/echo"]

FROM scratch AS gatefold
COPY --from=build /out/gatefold /usr/local/bin/gatefold
# Volumes mounted here belong to the user below: places for the xDS socket, for the
# state that outlives a restart, and for what git-sync fetches.
COPY --from=build --chown=65532:65532 /out/run /run/gatefold
COPY --from=build --chown=65532:65532 /out/run /var/lib/gatefold
COPY --from=build --chown=65532:65532 /out/run /git
ENV PATH=/usr/local/bin
USER 65532:65532
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s CMD ["gatefold", "healthcheck"]
ENTRYPOINT ["gatefold"]
CMD ["serve", "/etc/gatefold"]
