#!/usr/bin/env bash
# Starts an installation of its own in .demo, shows what it can do, and says how to look further. It goes on running if
# somebody looks on (a terminal) or with KEEP=yes; else it is stopped, so that nothing is left behind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PF_DATA=$PWD/.demo PADDLEFLOW_CONFIG=$PWD/.demo/client/paddleflow.ini PATH=$PWD/.venv/bin:$PATH

stop() {
    pf down
    printf '\nStopped, since nobody looks on. To keep it running: KEEP=yes make demo\n'
}

# Each demo begins anew, so that it always shows the same.
if [ -e "$PF_DATA" ]; then
    pf down
    rm -rf "$PF_DATA"
fi
if [ "${KEEP:-}" != yes ] && ! [ -t 1 ]; then trap stop EXIT; fi

pf up
python demo/queues.py
cat <<END

Look further:
  export PATH="$PWD/.venv/bin:\$PATH" PF_DATA="$PF_DATA" PADDLEFLOW_CONFIG="$PADDLEFLOW_CONFIG"
  paddleflow queue tree          # the tree again
  paddleflow queue watch         # what changes, as it happens
  paddleflow audit list          # who changed what
  paddleflow --help
  pf status                      # what runs, and what it costs
  pf down                        # stop it

docs/quickstart.md goes on from here, docs/howto/quota-trees.md explains the tree.
END
