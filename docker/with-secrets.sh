#!/bin/sh
# Runs a command with secrets taken from files: with NAME_FILE=/run/secrets/x, NAME is set to
# what the file holds. Prefect reads secrets from variables alone; given as files they are in
# no image, no compose file and not in `docker inspect`.
set -eu

stop() {
    echo "with-secrets: $1" >&2
    exit 78 # EX_CONFIG
}

[ "$#" -gt 0 ] || stop "no command; usage: with-secrets COMMAND [ARGUMENT...]"

for name in \
    PREFECT_API_AUTH_STRING \
    PREFECT_SERVER_API_AUTH_STRING \
    PREFECT_SERVER_DATABASE_PASSWORD; do
    eval "file=\${${name}_FILE:-}"
    [ -n "$file" ] || continue
    [ -f "$file" ] || stop "${name}_FILE names $file, which is not there; docker/create-secrets.sh makes it"
    [ -r "$file" ] || stop "${name}_FILE names $file, which uid $(id -u) may not read; chmod 444 it on the host"
    value=$(cat "$file")
    [ -n "$value" ] || stop "${name}_FILE names $file, which is empty"
    export "$name=$value"
    unset "${name}_FILE"
done

exec "$@"
