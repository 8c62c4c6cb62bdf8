"""
Lets the AWS CLI parse commands, with the values of their arguments, and sends nothing. Reads the directory of the CLI's
modules and the commands from standard input as JSON, and writes what is wrong with each, or null.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile

request = json.load(sys.stdin)
# Commands may read a value from standard input, each from the beginning.
standard_input = tempfile.NamedTemporaryFile()
standard_input.write(b"text")
standard_input.flush()
os.dup2(standard_input.fileno(), 0)
sys.path.insert(0, request["modules"])
sys.dont_write_bytecode = True
os.environ.update(
    AWS_ACCESS_KEY_ID="key",
    AWS_SECRET_ACCESS_KEY="secret",
    AWS_DEFAULT_REGION="eu-central-1",
    AWS_EC2_METADATA_DISABLED="true",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
)

import jmespath
from awscli.clidriver import create_clidriver


class Parsed(Exception):
    """The command is complete: the CLI would send its first request."""


def stop(model, **_):
    global request_of
    request_of = model
    raise Parsed()


driver = create_clidriver()
driver.session.register("before-call", stop)


class AnyKey(dict):
    def __init__(self, value):
        super().__init__(key=value)
        self.get = lambda _: value


def sample(shape, depth=0):
    """A value of a shape, with each of its fields."""
    if shape is None or depth > 8:
        return None
    if shape.type_name == "structure":
        return {name: sample(member, depth + 1) for name, member in shape.members.items()}
    if shape.type_name == "list":
        return [sample(shape.member, depth + 1)]
    if shape.type_name == "map":
        return AnyKey(sample(shape.value, depth + 1))
    return {"boolean": True, "integer": 1, "long": 1, "double": 1.0, "float": 1.0}.get(shape.type_name, "text")


def is_nothing(value):
    return value is None or (isinstance(value, list) and all(is_nothing(each) for each in value))


def problem_of(words):
    global request_of
    request_of = None
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            driver.main(words)
        except SystemExit:
            pass
    if request_of is None:
        return errors.getvalue().strip().split("\n")[-1] or "Nothing would be sent"
    if "--query" in words:
        # A filter would not let the sample through.
        query = re.sub(r"\[\s*\?.*?\](?=[.|\[]|$)", "[]", words[words.index("--query") + 1], flags=re.DOTALL)
        if is_nothing(jmespath.search(query, sample(request_of.output_shape))):
            return f"No answer has {query}"
    return None


json.dump([problem_of(words) for words in request["commands"]], sys.stdout)
