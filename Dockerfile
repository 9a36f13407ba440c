# The image of Tidegate: the bundled program and the packages that it needs at run time, run by a user without rights.
# How it is built, started and configured: docs/how-to/containers.md.
#
# The tag names an LTS line of Node, so a rebuild gets its security fixes. For reproducible images use the digest of it.

# The bundle, and the template of the embedded store.
FROM node:24-bookworm-slim AS build
WORKDIR /opt/tidegate
COPY package.json package-lock.json ./
COPY packages packages
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts scripts
# The client's types are made from it.
COPY docs/reference/openapi.json docs/reference/
COPY src src
RUN npm run build

# The packages of the program alone.
FROM node:24-bookworm-slim AS packages
WORKDIR /opt/tidegate
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /opt/tidegate
# Owned by root: a compromised service cannot change its own program.
COPY --from=packages /opt/tidegate/node_modules node_modules
COPY --from=build /opt/tidegate/dist dist
COPY package.json LICENSE ./
# A new volume gets the owner and the mode of this folder.
RUN install -d -m 700 -o 1000 -g 1000 /var/lib/tidegate && ln -s /opt/tidegate/dist/main.js /usr/local/bin/tidegate

# Published ports reach only listeners on all addresses of the container. The operator listener stays on loopback.
ENV TIDEGATE_HTTP_HOST=0.0.0.0
ENV TIDEGATE_DATA_DIR=/var/lib/tidegate
# The user `node` of the base image, as numbers, so that Kubernetes can verify that it is not root.
USER 1000:1000
VOLUME /var/lib/tidegate
EXPOSE 8080
# The signal that starts the drain.
STOPSIGNAL SIGTERM
# Whether the event loop runs. A node that waits for its store is healthy: a restart would not help.
# It reads no settings file, so another port of the operator listener is set as TIDEGATE_OPERATOR_PORT.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.TIDEGATE_OPERATOR_PORT || 8081) + '/livez').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/tidegate/dist/main.js"]
CMD ["serve"]
