#!/usr/bin/env bash
# Starts an installation of its own in .demo, shows what it can do, and says how to look further. It goes on running if
# somebody looks on (a terminal) or with KEEP=yes; else, and after Ctrl-C, it is stopped, so that nothing is left behind.
# It fails if the teams did not get what they should have.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PF_DATA=$PWD/.demo PADDLEFLOW_CONFIG=$PWD/.demo/client/paddleflow.ini PATH=$PWD/.venv/bin:$PATH

finish() {
    status=$?
    if [ "${KEEP:-}" = yes ]; then
        if [ "$status" != 0 ]; then printf '\nIt goes on running. To stop it: .venv/bin/pf down --data .demo\n'; fi
    elif [ "$status" = 130 ]; then
        pf down
        printf '\nStopped, since you interrupted it.\n'
    elif ! [ -t 1 ]; then
        pf down
        printf '\nStopped, since nobody looks on. To keep it running: KEEP=yes make demo\n'
    fi
}

# Each demo begins anew, so that it always shows the same.
if [ -e "$PF_DATA" ]; then
    pf down
    rm -rf "$PF_DATA"
fi
rm -rf examples/scratch
trap finish EXIT
trap 'exit 130' INT

pf up
python demo/queues.py
python demo/pipelines.py
python demo/jobs.py
status=0
PYTHONPATH=demo python -m teams || status=$?
if [ "$status" = 130 ]; then exit 130; fi
cat <<END

Look further:
  export PATH="$PWD/.venv/bin:\$PATH" PF_DATA="$PF_DATA" PADDLEFLOW_CONFIG="$PADDLEFLOW_CONFIG"
  paddleflow run list            # the runs again; run show, events, logs RUNID
  paddleflow run create -yr examples/train/run.yaml -p count=500 --watch
  paddleflow job submit --cpu 100m --wait -- echo hello
  paddleflow job create examples/ring.yaml --wait    # examples/README.md says more
  paddleflow job list            # the jobs again; job show, tasks, events, logs JOBID
  paddleflow queue tree          # the trees again
  paddleflow queue top lab       # how busy the four teams are; --watch looks again and again
  paddleflow queue decisions     # what was decided about their jobs, newest first
  paddleflow queue watch         # what changes, as it happens
  paddleflow audit list          # who changed what
  paddleflow --help
  pf status                      # what runs, and what it costs
  pf down                        # stop it

docs/tutorial.md goes on from here; docs/howto/pipelines.md explains pipelines, docs/howto/jobs.md jobs,
docs/howto/quota-trees.md the tree, docs/howto/admission.md who may start.
END
exit "$status"
