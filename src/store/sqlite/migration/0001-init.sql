-- Times are epoch milliseconds. Every row leads with its namespace. Rows are appended; what is looked up by text is an
-- index beside them, so that large payloads never sit in an index.

-- Each life of the process, in order.
create table epoch (
  ordinal integer primary key,
  epoch text not null unique
) strict;

create table entry (
  number integer primary key,
  namespace text not null,
  scope text not null,
  key text not null,
  id text not null,
  state text not null,
  -- 1 while something is left to do or to find out.
  open integer not null,
  revision integer not null,
  epoch text not null,
  call_id text not null,
  attempts integer not null,
  approval_id text,
  cancel_requested integer not null,
  created_at real not null,
  settled_at real,
  identity text,
  outcome text,
  -- 1 for a tombstone.
  erased integer not null default 0
) strict;
-- The part of an entry that is written once: settling rewrites the small row only, and erasing leaves no older copy.
create table entry_body (
  number integer primary key,
  -- JSON of everything that never changes.
  fixed text not null,
  payload text
) strict;
create unique index entry_key on entry (scope, key);
create unique index entry_id on entry (namespace, id);
create index entry_identity on entry (identity, created_at) where identity is not null;
create index entry_open on entry (state, epoch) where open = 1;
-- An entry is in one of these: waiting to be erased, or to be forgotten.
create index entry_erasable on entry (settled_at) where open = 0 and erased = 0;
create index entry_forgettable on entry (settled_at) where erased = 1;

create table call (
  namespace text not null,
  id text not null,
  request_id text not null,
  dialect text not null,
  actor text not null,
  tool text not null,
  version text,
  operation text not null,
  entry_id text,
  state text not null,
  -- 1 while the state is no outcome.
  open integer not null,
  effect text not null,
  epoch text not null,
  created_at real not null,
  ended_at real,
  -- JSON of the answer, without what the tool returned.
  answer text,
  -- JSON of what the tool returned; erased on its own.
  result text,
  erased integer not null default 0
) strict;
create unique index call_id on call (namespace, id);
create index call_request on call (namespace, request_id);
create index call_open on call (namespace, state, id) where open = 1;
create index call_erasable on call (ended_at) where open = 0 and erased = 0;
create index call_forgettable on call (ended_at) where erased = 1;

create table resource (
  namespace text not null,
  kind text not null,
  name text not null,
  version text not null,
  resource_version integer not null,
  generation integer not null,
  digest text not null,
  body text not null,
  created_at real not null,
  updated_at real not null,
  primary key (namespace, kind, name, version)
) strict;

-- The last resource version that was given; outlives the resources, so that none is given twice.
create table resource_counter (
  last integer not null
) strict;
insert into resource_counter (last) values (0);

create table evidence_link (
  epoch integer not null,
  batch integer not null,
  first_seq integer not null,
  last_seq integer not null,
  prev text not null,
  root text not null,
  hash text not null,
  primary key (epoch, batch)
) strict, without rowid;

create table evidence (
  epoch integer not null,
  seq integer not null,
  namespace text not null,
  call_id text not null,
  type text not null,
  at real not null,
  body text not null,
  hash text not null,
  primary key (epoch, seq)
) strict, without rowid;
create index evidence_call on evidence (namespace, call_id);
