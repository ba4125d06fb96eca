#!/bin/sh
# Makes the work pools and applies prefect.yaml, which is in /opt/deaps or in the folder that is
# named. Running it again does no harm.
set -eu

for pool in cpu gpu; do
    # A pool that is there is left alone: its limit may have been changed on purpose.
    if ! prefect work-pool inspect "$pool" >/dev/null 2>&1; then
        prefect work-pool create "$pool" --type process
        # Two would only share the cores: inside a run, Dask and torchrun use all there is.
        prefect work-pool set-concurrency-limit "$pool" 1
    fi
done

# From the folder that the flows are to run in: Prefect notes it in every deployment.
exec prefect --no-prompt deploy --all --prefect-file "${1:-/opt/deaps}/prefect.yaml"
