"""A process that says it is ready to read files, and then, as the environment says, sleeps, works for ever or dies."""

import json
import os
import sys
import time

from steinkit.files import reader_child
from steinkit.files.grouped import read_frame, write_frame

if __name__ == "__main__":
    write_frame(sys.stdout.buffer, b"ready")
    asked = json.loads(read_frame(sys.stdin.buffer))
    if os.environ["FAILING_READER"] == "sleeps":
        time.sleep(60)
    if os.environ["FAILING_READER"] == "works on":
        reader_child._end_after(asked["seconds"])
        while True:
            pass
    os.abort()
