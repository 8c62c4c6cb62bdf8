"""What aurora-data-api does, against the Data API that the environment names; prints what failed."""

import datetime
import os
from decimal import Decimal

import aurora_data_api
from aurora_data_api.exceptions import DatabaseError

database = dict(
    aurora_cluster_arn=os.environ["CLUSTER"],
    secret_arn=os.environ["SECRET"],
    database="postgres",
)
day = datetime.date(2026, 11, 21)
moment = datetime.datetime(2026, 11, 21, 10, 15, 0, 123000)
failed = []


def connect():
    return aurora_data_api.connect(**database)


def run(sql, parameters=None):
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def check(name, actual, expected):
    print(name)
    if actual != expected:
        failed.append(f"{name}: {actual!r} is not {expected!r}")


def error_of(sql, parameters=None):
    try:
        run(sql, parameters)
    except DatabaseError as error:
        return error


run("create table person (id serial primary key, name text unique, doc jsonb)")
for name, sql, parameters, expected in [
    ("numbers", "select 1, 0.5::float8, 19.90", None, [(1, 0.5, Decimal("19.90"))]),
    ("texts and truth", "select 'ü', true, null", None, [("ü", True, None)]),
    ("times", "select date '2026-11-21', time '10:15:00'", None, [(day, datetime.time(10, 15))]),
    ("a timestamp", "select timestamp '2026-11-21 10:15:00.123'", None, [(moment,)]),
    ("bytes", "select '\\x00ff'::bytea", None, [(b"\x00\xff",)]),
    ("compact jsonb", """select '{"y": "0", "x": 0}'::jsonb""", None, [('{"x":0,"y":"0"}',)]),
    ("an array", "select array[1, null, 3]", None, [([1, None, 3],)]),
    ("parameters", "select :a, :b, :c", dict(a="x", b=7, c=True), [("x", 7, True)]),
    ("NULL", "select :p::int", dict(p=None), [(None,)]),
    ("a decimal", "select :p", dict(p=Decimal("12.50")), [(Decimal("12.50"),)]),
    ("a date", "select :p", dict(p=day), [(day,)]),
    ("a datetime", "select :p", dict(p=moment), [(moment,)]),
    ("sent bytes", "select :p", dict(p=b"\x00\xff"), [(b"\x00\xff",)]),
    ("returning", "insert into person (name) values (:p) returning id", dict(p="Ada"), [(1,)]),
    ("many rows", "select generate_series(1, 2000)", None, [(n,) for n in range(1, 2001)]),
]:
    check(name, run(sql, parameters), expected)

with connect() as connection, connection.cursor() as cursor:
    cursor.execute("select id as number, name from person")
    check("description", [each.name for each in cursor.description], ["id", "name"])
    check("one row", (cursor.rowcount, cursor.fetchone(), cursor.fetchone()), (1, (1, "Ada"), None))
    cursor.executemany("insert into person (name) values (:name)", [dict(name="B1"), dict(name="B2")])
    cursor.execute("update person set doc = '[]'")
    check("a count of updated rows", cursor.rowcount, 3)
check("a commit", run("select count(*) from person"), [(3,)])

connection = connect()
connection.cursor().execute("delete from person")
connection.rollback()
check("a rollback", run("select count(*) from person"), [(3,)])

with connect() as connection:
    try:
        connection.cursor().execute("select 1 / 0")
    except DatabaseError:
        check("a commit after an error", connection.commit(), None)

check("an error's class", type(error_of("select nope")).__name__, "ER_UNDEF_COL")
check("a violated constraint", "SQLState: 23505" in str(error_of("insert into person values (1)")), True)
print("\n".join(failed) or "all as expected")
