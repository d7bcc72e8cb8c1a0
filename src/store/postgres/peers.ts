// How replicas wake each other: LISTEN on a connection of its own, NOTIFY after a commit and outside of it (S38). All of
// it is only a hint. A message that is lost costs whoever waits its next look.
import type pg from 'pg'
import { isJsonObject } from '../../util/json.ts'
import type { World } from '../../util/world.ts'
import type { Peers } from '../store.ts'
import { type ConnectionOptions, drop, goodbye, openClient, pause } from './connection.ts'
import { keepable } from './encode.ts'
import type { News } from './engine.ts'
import type { ReadPool } from './reading.ts'

const CHANNEL = 'writ_changed'
/** Ids in one message; PostgreSQL takes 8,000 bytes. */
const IDS_PER_MESSAGE = 100
/** Entries that are waited for at once. Past this the oldest is forgotten: whoever waits for it looks by itself. */
const MOST_AWAITED = 20_000

export interface PostgresPeersOptions extends ConnectionOptions {
  readonly world: Pick<World, 'after' | 'random'>
  readonly epoch: string
  readonly pool: ReadPool
}

export interface PostgresPeers {
  readonly peers: Peers
  tell(news: News): void
  close(): Promise<void>
}

/** `a`: entries that somebody waited for; `c`: cancel requests, each with the life that owns the entry. */
interface Message {
  readonly a?: readonly string[]
  readonly c?: readonly (readonly [string, string])[]
}

export function createPeers(options: PostgresPeersOptions): PostgresPeers {
  const { world, epoch, pool } = options
  const listeners = new Set<(entryId: string) => void>()
  const awaited = new Set<string>()
  let client: pg.Client | undefined
  let closed = false
  let untold: { awaited: Set<string>; canceled: Map<string, string> } | undefined

  function hear(payload: string | undefined): void {
    const { a = [], c = [] } = readMessage(payload)
    for (const id of a) if (awaited.delete(id)) wake(id)
    for (const [owner, id] of c) if (owner === epoch) wake(id)
  }

  function wake(id: string): void {
    for (const listener of listeners) listener(id)
  }

  async function listen(): Promise<void> {
    opening = true
    for (let tries = 0; !closed && client === undefined; tries += 1) {
      try {
        const opened = await openClient(options, () => {
          if (client !== opened) return
          client = undefined
          drop(opened)
          // One that was lost while it was being opened is noticed there: a second loop would open a second one.
          if (!opening) listening = listen()
        })
        if (closed) {
          drop(opened)
          return
        }
        opened.on('notification', ({ payload }) => hear(payload))
        client = opened
        await opened.query(`listen ${CHANNEL}`)
        // What was settled while nobody listened is not told again: everybody looks now.
        if (tries > 0 || heardBefore) for (const id of [...awaited]) wake(id)
        heardBefore = true
      } catch {
        // Nothing is lost but speed; the flusher tells of a database that is away.
        if (client !== undefined) drop(client)
        client = undefined
        if (!closed) await pause(world, Math.min(100 * 2 ** tries, 2_000) * (0.5 + world.random() / 2))
      }
    }
    opening = false
  }
  let opening = false
  let heardBefore = false
  let listening = listen()

  /** Everything that is to be told by the time the last message has left goes as one. */
  async function send(): Promise<void> {
    while (untold !== undefined && !closed) {
      const { awaited: ids, canceled } = untold
      const messages: Message[] = [
        ...chunks([...ids]).map((a) => ({ a })),
        ...chunks([...canceled].map(([id, owner]) => [owner, id] as const)).map((c) => ({ c })),
      ]
      untold = { awaited: new Set(), canceled: new Map() }
      for (const message of messages) {
        try {
          await pool.rows('notify', 'select pg_notify($1, $2)', [CHANNEL, JSON.stringify(message)])
        } catch {
          // A hint that did not arrive: whoever waits looks by itself.
        }
      }
      if (untold.awaited.size + untold.canceled.size === 0) untold = undefined
    }
  }
  let sending = Promise.resolve()

  return {
    peers: {
      async await(namespace, entryId) {
        awaited.add(entryId)
        if (awaited.size > MOST_AWAITED) for (const oldest of awaited) if (awaited.delete(oldest)) break
        await pool.rows(
          'await-entry',
          'update writ.entry set awaited = true where namespace = $1 and id = $2 and open and not awaited',
          [keepable(namespace), keepable(entryId)],
        )
      },
      onChanged(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    },
    tell(news) {
      if (news.awaited.length + news.canceled.length === 0) return
      const idle = untold === undefined
      untold ??= { awaited: new Set(), canceled: new Map() }
      for (const id of news.awaited) untold.awaited.add(id)
      for (const { epoch: owner, id } of news.canceled) untold.canceled.set(id, owner)
      if (idle) sending = send()
    },
    async close() {
      await sending
      closed = true
      const last = client
      client = undefined
      if (last !== undefined) await goodbye(last, world)
      await listening
    },
  }
}

/** Anybody who can connect can tell something on the channel: what is no message of ours is no hint. */
function readMessage(payload: string | undefined): Message {
  const value = parse(payload ?? '')
  if (!isJsonObject(value)) return {}
  const { a, c } = value
  return {
    a: Array.isArray(a) ? a.filter((id): id is string => typeof id === 'string') : [],
    c: Array.isArray(c) ? c.filter(isRequest) : [],
  }
}

function isRequest(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function chunks<T>(items: readonly T[]): T[][] {
  const result: T[][] = []
  for (let at = 0; at < items.length; at += IDS_PER_MESSAGE)
    result.push(items.slice(at, at + IDS_PER_MESSAGE))
  return result
}
