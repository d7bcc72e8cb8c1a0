-- What policy made of a payload, and is sent instead of it (S43); erased with it.
alter table writ.entry add column narrowed text;
-- JSON of what the entry holds of budgets (S38): given back when its effect did not happen.
alter table writ.entry add column spends text;

-- Questions to people about one call (S45).
create table writ.approval (
  namespace text collate "C" not null,
  id text collate "C" not null,
  state text collate "C" not null,
  revision bigint not null,
  entry_id text collate "C" not null,
  requester text collate "C" not null,
  tool text collate "C" not null,
  -- JSON of the approval; what other columns hold counts from there.
  body text not null,
  -- JSON of what people were shown; erased with the payload of the entry.
  payload text,
  primary key (namespace, id)
);
create index approval_state on writ.approval (namespace, state, id);
create index approval_entry on writ.approval (namespace, entry_id);
create index approval_requester on writ.approval (namespace, requester, id);
create index approval_tool on writ.approval (namespace, tool, id);

-- What is taken of each period of a budget, in whole millionths. Few rows, each changed by every call that it counts.
create table writ.budget (
  namespace text collate "C" not null,
  budget text collate "C" not null,
  subject text collate "C" not null,
  began_at bigint not null,
  ends_at bigint not null,
  spent bigint not null,
  primary key (namespace, budget, subject, began_at)
) with (fillfactor = 40);
create index budget_over on writ.budget (ends_at);
