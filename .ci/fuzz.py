"""Who asks in .ci/fuzz: COLOPHON_CALLER is nobody, reader or administrator."""

import json
import os
from functools import cache
from uuid import uuid4

import boto3
import schemathesis

caller = os.environ["COLOPHON_CALLER"]


@cache
def functions():
    return boto3.client("lambda", endpoint_url=os.environ["COLOPHON_URL"], region_name="local")


def invoke(function, **payload):
    answer = functions().invoke(FunctionName=function, Payload=json.dumps(payload))
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.load(answer["Payload"])


class Reader:
    def get(self, case, context):
        return "local-reader"

    def set(self, case, token, context):
        case.cookies = {**(case.cookies or {}), "refreshToken": token}


class Administrator(Reader):
    """Another user each second, since requests may delete permissions, roles and their users, or end sessions."""

    def get(self, case, context):
        username = f"administrator {uuid4()}"
        invoke("ops-migrate")
        invoke("ops-create-user", username=username, roles=["Administrator"])
        return invoke("ops-issue-refresh-token", username=username, days=1)["refreshToken"]


if caller != "nobody":
    provider = {"reader": Reader, "administrator": Administrator}[caller]
    schemathesis.auth(refresh_interval=1 if caller == "administrator" else 3_600, retry_on=[])(provider)
