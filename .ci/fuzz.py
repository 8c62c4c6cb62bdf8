"""Who asks in .ci/fuzz: COLOPHON_CALLER is nobody, reader or administrator."""

import json
import os
import subprocess
from pathlib import Path
from uuid import uuid4

import schemathesis

root = Path(__file__).parent.parent
url = os.environ["COLOPHON_URL"]
caller = os.environ["COLOPHON_CALLER"]


def invoke(function, **payload):
    command = [root / "node_modules/.bin/node", root / "infra/local/invoke.ts", function, "/dev/stdin"]
    flags = ["--url", url, "--data", "data"]
    answer = subprocess.run(command + flags, input=json.dumps(payload), text=True, capture_output=True, check=True)
    return json.loads(answer.stdout)


class Reader:
    def get(self, case, context):
        return "local-reader"

    def set(self, case, token, context):
        case.cookies = {**(case.cookies or {}), "refreshToken": token}


class Administrator(Reader):
    """Somebody new each second, since requests may delete permissions, roles and whoever holds them."""

    def get(self, case, context):
        username = f"administrator {uuid4()}"
        invoke("ops-migrate")
        invoke("ops-create-user", username=username, roles=["Administrator"])
        return invoke("ops-issue-refresh-token", username=username, days=1)["refreshToken"]


if caller != "nobody":
    provider = {"reader": Reader, "administrator": Administrator}[caller]
    schemathesis.auth(refresh_interval=1, retry_on=[])(provider)
