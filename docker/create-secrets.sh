#!/bin/sh
# Makes the secrets that compose.yaml mounts, in docker/secrets or in the folder that is named.
# A secret that is there already is kept: PostgreSQL remembers its password in its volume.
set -eu

folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
# Compose mounts the files with their owner and mode, and containers read them with numbers of
# their own. So anyone may read the files, but on this machine only you may enter the folder.
chmod 700 "$folder"

random() {
    od -A n -t x1 -N 24 /dev/urandom | tr -d ' \n'
}

create() {
    if [ -s "$folder/$1" ]; then
        echo "$folder/$1 is there already"
        return
    fi
    printf '%s\n' "$2" >"$folder/.$1"
    chmod 444 "$folder/.$1"
    mv -f "$folder/.$1" "$folder/$1"
    echo "$folder/$1 created"
}

create postgres_password.txt "$(random)"
create prefect_auth.txt "deaps:$(random)"
