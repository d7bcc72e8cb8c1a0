-- What policy made of a payload, and is sent instead of it (S43); erased with it.
alter table entry_body add column narrowed text;
-- JSON of what the entry holds of budgets (S38): given back when its effect did not happen.
alter table entry add column spends text;

-- Questions to people about one call (S45).
create table approval (
  namespace text not null,
  id text not null,
  state text not null,
  revision integer not null,
  entry_id text not null,
  requester text not null,
  tool text not null,
  -- JSON of the approval; what other columns hold counts from there.
  body text not null,
  -- JSON of what people were shown; erased with the payload of the entry.
  payload text
) strict;
create unique index approval_id on approval (namespace, id);
create index approval_state on approval (namespace, state, id);
create index approval_entry on approval (namespace, entry_id);
create index approval_requester on approval (namespace, requester, id);
create index approval_tool on approval (namespace, tool, id);

-- What is taken of each period of a budget, in whole millionths.
create table budget (
  namespace text not null,
  budget text not null,
  subject text not null,
  began_at integer not null,
  ends_at integer not null,
  spent integer not null,
  primary key (namespace, budget, subject, began_at)
) strict, without rowid;
create index budget_over on budget (ends_at);
