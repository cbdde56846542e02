"""A process that says it is ready to read files, and then, as the environment says, hangs or dies on the first."""

import os
import sys
import time

from steinkit.files.reader_process import read_frame, write_frame

if __name__ == "__main__":
    write_frame(sys.stdout.buffer, b"ready")
    read_frame(sys.stdin.buffer)
    if os.environ["FAILING_READER"] == "hangs":
        time.sleep(60)
    os.abort()
