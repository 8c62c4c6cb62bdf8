/** The only thing that is in a database while probes run, and gone afterwards. */
export const schema = "probed";

/** What probes find. Each one that writes has rows or a table of its own. */
export const fixture = [
  `create schema ${schema}`,
  "create type probed.mood as enum ('calm', 'cross')",
  "create domain probed.positive as int check (value > 0)",
  "create table probed.shelf (id int primary key, name text not null unique)",
  "create table probed.book (shelf int references probed.shelf, price int check (price > 0))",
  "insert into probed.shelf values (1, 'a')",
  "insert into probed.book values (1, 1)",
  `create table probed.typed (id bigserial primary key, number int4 generated always as identity, small smallserial,
     title varchar(40) not null, price numeric(8, 2), tags text[], code char(3))`,
  "create table probed.empty ()",
  "create table probed.plain (id int, note text)",
  "create table probed.note (text text primary key)",
  "create table probed.serial (n int)",
  "create table probed.counted (id int)",
  "create table probed.counts (id int, n int)",
  "create table probed.altered (a int)",
  "create table probed.renamed (was int)",
  "create table probed.late (slept text)",
  "create table probed.moments (at timestamp)",
  "create table probed.numbers (n int4)",
  `create function probed.raises() returns int language plpgsql
     as 'begin raise exception ''custom'' using hint = ''a hint'', detail = ''a detail''; end'`,
  "create function probed.void() returns void language sql as ''",
];
