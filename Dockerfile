# The builder is any image with Go, a shell and CA certificates; tools/image makes an empty one around the Go of this
# machine, so that nothing has to be pulled.
ARG BUILDER=golang:1.26
FROM ${BUILDER} AS builder
ARG VERSION
ARG COMMIT
COPY . /src
RUN /src/tools/slim /out/tiergate "$VERSION" "$COMMIT" \
 && mkdir -p /out/etc/ssl/certs /out/var/cache/tiergate /out/var/lib/tiergate \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/

FROM scratch
ARG VERSION
ARG COMMIT
LABEL org.opencontainers.image.title=tiergate \
      org.opencontainers.image.description="Decides whether an LLM inference engine may bring up its KV-cache tiers" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$COMMIT
# Bundles, keys and decision logs are fetched from and sent to servers that public authorities vouch for.
COPY --from=builder /out/etc /etc
# What is written goes here and nowhere else; the root may be read-only.
COPY --from=builder --chown=65532:65532 /out/var /var
COPY --from=builder /out/tiergate /tiergate
ENV TIERGATE_CACHE_DIR=/var/cache/tiergate TMPDIR=/var/cache/tiergate
VOLUME ["/var/cache/tiergate", "/var/lib/tiergate"]
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s CMD ["/tiergate", "health"]
ENTRYPOINT ["/tiergate"]
CMD ["serve"]
