"""A process that says it is ready to read files, and then, as the environment says, sleeps, works for ever or dies."""

import os
import sys
import time

from steinkit.files.grouped import receive, send

if __name__ == "__main__":
    send(sys.stdout.buffer, "ready")
    receive(sys.stdin.buffer)
    if os.environ["FAILING_READER"] == "sleeps":
        time.sleep(60)
    while os.environ["FAILING_READER"] == "works on":
        pass
    os.abort()
