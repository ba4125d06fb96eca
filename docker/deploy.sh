#!/bin/sh
# Makes the work pools, applies prefect.yaml, which is in /opt/deaps or in the folder that is
# named, and makes the automation that ends silent runs. Running it again does no harm.
# Start it in the folder that the flows are to run in: Prefect notes it in every deployment.
set -eu

exec deaps deploy --file "${1:-/opt/deaps}/prefect.yaml"
