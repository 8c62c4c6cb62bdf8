"""Who asks in .ci/fuzz: COLOPHON_CALLER is nobody, reader or administrator."""

import json
import os
from urllib.request import Request, urlopen
from uuid import uuid4

import schemathesis

url = os.environ["COLOPHON_URL"]
caller = os.environ["COLOPHON_CALLER"]


def invoke(function, **payload):
    request = Request(f"{url}/2015-03-31/functions/{function}/invocations", json.dumps(payload).encode())
    with urlopen(request) as answer:
        return json.load(answer)


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
