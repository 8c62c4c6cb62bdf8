"""Who asks in .ci/fuzz: COLOPHON_CALLER is nobody, reader or administrator."""

import json
import os
from functools import cache
from uuid import uuid4

import boto3
import requests
import schemathesis

caller = os.environ["COLOPHON_CALLER"]
http = requests.Session()


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
    """Requests may delete permissions, roles and users, or end sessions: then the next request is another user's."""

    token = None
    may_have_lost = True

    def get(self, case, context):
        if self.may_have_lost and not holds_all_permissions(self.token):
            username = f"administrator {uuid4()}"
            invoke("ops-migrate")
            invoke("ops-create-user", username=username, roles=["Administrator"])
            self.token = invoke("ops-issue-refresh-token", username=username, days=1)["refreshToken"]
        self.may_have_lost = case.method != "GET" and "/admin-contributors/" not in case.path
        return self.token


def holds_all_permissions(token):
    response = http.get(f"{os.environ['COLOPHON_URL']}/session", cookies={"refreshToken": token or ""})
    return response.ok and len(response.json()["permissions"]) == 15


if caller == "reader":
    schemathesis.auth(refresh_interval=3_600, retry_on=[])(Reader)
if caller == "administrator":
    schemathesis.auth(refresh_interval=None, retry_on=[])(Administrator)
