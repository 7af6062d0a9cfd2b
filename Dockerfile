# The gateway as an image: a virtual environment, a user without rights, a volume for the home.
#
#   docker build -t privacy-gateway .
#   docker run -p 127.0.0.1:8080:8080 -p 127.0.0.1:5433:5433 \
#     -v gateway-home:/var/lib/gateway -v ./policies:/etc/gateway/policies:ro \
#     -e CLINIC_URL=… privacy-gateway
#
# docker-compose.yml shows it with databases of its own.

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/gateway
WORKDIR /src
# What changes rarely comes first: editing the gateway does not download everything anew.
COPY requirements.lock ./
RUN /opt/gateway/bin/pip install --require-hashes -r requirements.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY gateway ./gateway
COPY migrations ./migrations
RUN /opt/gateway/bin/pip install --no-deps --no-build-isolation .

FROM python:3.11-slim
# The embedded PostgreSQL needs a user with an entry in /etc/passwd, and refuses to run as root.
RUN groupadd --system --gid 10001 gateway \
    && useradd --system --uid 10001 --gid gateway --home-dir /var/lib/gateway --no-create-home \
       --shell /usr/sbin/nologin gateway \
    && install --directory --owner=gateway --group=gateway --mode=0700 /var/lib/gateway
COPY --from=build /opt/gateway /opt/gateway
# Inside a container the gateway listens to all addresses; what is published decides who comes near.
ENV PATH=/opt/gateway/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    GATEWAY_HOME=/var/lib/gateway \
    GATEWAY_POLICIES=/etc/gateway/policies \
    GATEWAY_REST_HOST=0.0.0.0 \
    GATEWAY_REST_PORT=8080 \
    GATEWAY_PG_HOST=0.0.0.0 \
    GATEWAY_PG_PORT=5433
# By number, so that an orchestrator can see that this is not root.
USER 10001:10001
WORKDIR /var/lib/gateway
VOLUME /var/lib/gateway
EXPOSE 8080 5433
# A proxy in the environment must not be asked about ourselves. With GATEWAY_TLS_CERT, give a check
# of your own that speaks https.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8080/healthz', timeout=4)"]
ENTRYPOINT ["gateway"]
CMD ["serve"]
