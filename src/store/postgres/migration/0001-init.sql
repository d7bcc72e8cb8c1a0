-- Times are epoch milliseconds: those of calls and entries by the clocks of the replicas, leases and timers by the clock
-- of this database, which all of them share. Every row leads with its namespace.
-- Text is compared byte by byte, so that ids sort by time and no locale decides which key is which.

create function writ.now_ms() returns double precision language sql volatile
  as $$ select extract(epoch from clock_timestamp())::double precision * 1000 $$;

-- Each life of a process, in the order in which they started. A batch of its writes locks its row first.
create table writ.life (
  ordinal bigint primary key,
  epoch text collate "C" not null unique,
  -- The one store that writes for this life, the number of its last batch, and what that came to: read back when the
  -- acknowledgement of a commit was lost.
  writer text not null,
  batch bigint not null,
  results text,
  expires double precision not null,
  ended boolean not null default false,
  seen bigint not null,
  over text not null default '{}',
  -- Where its evidence chain ends, whatever is still kept of it.
  chain_batch bigint not null default 0,
  chain_seq bigint not null default 0,
  chain_hash text not null default ''
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table writ.entry (
  number bigint generated always as identity primary key,
  -- Scope and key as one text, or a hash where that is too long for an index.
  slot text collate "C" not null,
  namespace text collate "C" not null,
  scope text not null,
  key text not null,
  id text collate "C" not null,
  state text collate "C" not null,
  -- While something is left to do or to find out.
  open boolean not null,
  revision bigint not null,
  epoch text collate "C" not null,
  call_id text not null,
  attempts bigint not null,
  approval_id text,
  cancel_requested boolean not null,
  created_at double precision not null,
  settled_at double precision,
  identity text collate "C",
  -- Where its window counts from: the last attempt that may have the effect.
  identity_at double precision,
  saga text collate "C",
  actor text collate "C" not null,
  outcome text,
  -- JSON of everything that never changes.
  fixed text not null,
  request text,
  payload text,
  -- A process elsewhere waits for it.
  awaited boolean not null default false,
  -- A tombstone.
  erased boolean not null default false
) with (fillfactor = 85);
create unique index entry_slot on writ.entry (slot);
create unique index entry_id on writ.entry (namespace, id);
create index entry_identity on writ.entry (identity, identity_at) where identity is not null;
create index entry_open on writ.entry (namespace, state, id) where open;
create index entry_under_way on writ.entry (number) where state in ('intended', 'sent', 'committing');
create index entry_canceling on writ.entry (epoch, number) where cancel_requested and open;
create index entry_saga on writ.entry (namespace, saga, id) where saga is not null;
-- An entry is in one of these: waiting to be erased, or to be forgotten.
create index entry_erasable on writ.entry (settled_at) where not open and not erased;
create index entry_forgettable on writ.entry (settled_at) where erased;

create table writ.call (
  namespace text collate "C" not null,
  id text collate "C" not null,
  request_id text collate "C" not null,
  dialect text not null,
  actor text collate "C" not null,
  tool text collate "C" not null,
  version text,
  operation text not null,
  entry_id text,
  state text collate "C" not null,
  -- While the state is no outcome.
  open boolean not null,
  effect text not null,
  epoch text collate "C" not null,
  created_at double precision not null,
  ended_at double precision,
  -- JSON of the answer, without what the tool returned.
  answer text,
  -- JSON of what the tool returned; erased on its own.
  result text,
  erased boolean not null default false,
  primary key (namespace, id)
);
-- A request id may be longer than what an index takes.
create index call_request on writ.call (namespace, left(request_id, 200));
create index call_open on writ.call (namespace, state, id) where open;
create index call_running on writ.call (id, namespace) where state = 'running';
create index call_erasable on writ.call (ended_at) where not open and not erased;
create index call_forgettable on writ.call (ended_at) where erased;

create table writ.timer (
  namespace text collate "C" not null,
  kind text collate "C" not null,
  subject text collate "C" not null,
  due double precision not null,
  data text not null,
  -- The life that has it in hand; nobody's once that life has ended.
  claimed_by text collate "C",
  primary key (namespace, kind, subject)
);
create index timer_free on writ.timer (due, namespace, kind, subject) where claimed_by is null;
create index timer_claimed on writ.timer (claimed_by) where claimed_by is not null;

create table writ.saga (
  namespace text collate "C" not null,
  id text collate "C" not null,
  actor text collate "C" not null,
  caller text not null,
  state text collate "C" not null,
  revision bigint not null,
  reason text not null,
  created_at double precision not null,
  ended_at double precision,
  primary key (namespace, id)
);
create index saga_ended on writ.saga (ended_at) where ended_at is not null;

create table writ.resource (
  namespace text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  version text collate "C" not null,
  resource_version bigint not null,
  generation bigint not null,
  digest text not null,
  body text not null,
  created_at double precision not null,
  updated_at double precision not null,
  primary key (namespace, kind, name, version)
);

-- The last resource version that was given; outlives the resources, so that none is given twice.
create table writ.resource_counter (last bigint not null);
insert into writ.resource_counter (last) values (0);

create table writ.evidence_link (
  life bigint not null,
  batch bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  prev text not null,
  root text not null,
  hash text not null,
  primary key (life, batch)
);

create table writ.evidence (
  life bigint not null,
  seq bigint not null,
  namespace text collate "C" not null,
  call_id text collate "C" not null,
  type text not null,
  at double precision not null,
  body text not null,
  hash text not null,
  primary key (life, seq)
);
create index evidence_call on writ.evidence (namespace, call_id);

create table writ.checkpoint (
  number bigint primary key,
  at double precision not null,
  hash text not null,
  body text not null,
  key_id text not null,
  signature text not null
);
