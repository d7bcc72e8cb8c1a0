-- Who shares the store (S35): every batch of a life renews its lease, one that another process ended writes nothing more.
alter table epoch add column ended integer not null default 0;
-- By the store's clock; null where one process owns the store alone.
alter table epoch add column expires_at real;
-- The newest life it knew of when it last renewed, and what it is still over, as JSON (S38).
alter table epoch add column seen integer not null default 0;
alter table epoch add column over text not null default '{}';
-- Where its chain ended, once its last link is pruned: the chain goes on from there.
alter table epoch add column pruned_batch integer;
alter table epoch add column pruned_seq integer;
alter table epoch add column pruned_hash text;
create index epoch_alive on epoch (epoch) where ended = 0;

-- Where the window of an identity counts from: the last attempt that may have the effect (S14).
alter table entry add column identity_at real;
update entry set identity_at = created_at where identity is not null;
drop index entry_identity;
create index entry_identity on entry (identity, identity_at) where identity is not null;
alter table entry add column saga text;
-- JSON of what the request said beside its payload; erased with it.
alter table entry_body add column request text;
create index entry_saga on entry (namespace, saga, id) where saga is not null;
create index entry_cancel on entry (epoch) where open = 1 and cancel_requested = 1;
drop index entry_open;
create index entry_open on entry (state, namespace, id) where open = 1;

-- What has to be done later, due by the store's clock (S12).
create table timer (
  namespace text not null,
  kind text not null,
  subject text not null,
  due_at real not null,
  -- JSON.
  data text not null,
  -- The epoch that has it in hand; free again when that life has ended.
  claimed_by text,
  primary key (namespace, kind, subject)
) strict, without rowid;
create index timer_due on timer (due_at);

create table saga (
  namespace text not null,
  id text not null,
  state text not null,
  revision integer not null,
  reason text not null,
  created_at real not null,
  ended_at real,
  actor text not null,
  -- JSON.
  caller text not null,
  primary key (namespace, id)
) strict, without rowid;
create index saga_ended on saga (ended_at) where ended_at is not null;

-- Signed statements about where all chains ended (S39).
create table checkpoint (
  number integer primary key,
  at real not null,
  hash text not null,
  body text not null,
  key_id text not null,
  signature text not null
) strict;
