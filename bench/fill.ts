// Fills a store with settled entries through its own write verbs, many to a group commit.
import { randomBytes } from 'node:crypto'
import type { CallRecord } from '../src/contract/call.ts'
import type { Entry } from '../src/contract/entry.ts'
import { scopeOf } from '../src/ledger/fingerprint.ts'
import type { LedgerWrite, Store } from '../src/store/store.ts'
import type { World } from '../src/util/world.ts'

/** How keys come: in the order of time, as UUIDv7 and request ids mostly are, or in none. */
export type KeyOrder = 'time-ordered' | 'random'

export const ACTOR = 'bench'
/** Writes that are under way at a time; the queue makes group commits of them. */
const AT_ONCE = 2_000

export function nextKey(order: KeyOrder, world: World): string {
  return order === 'random' ? randomBytes(16).toString('hex') : world.id()
}

export interface FillOptions {
  readonly store: Store
  readonly world: World
  readonly tool: string
  readonly order: KeyOrder
  readonly count: number
  /** When the entries were settled, as wall time. */
  readonly settledAt: number
}

/** Gives a sample of the keys that are now there. */
export async function fill(options: FillOptions): Promise<readonly string[]> {
  const { store, world, order, count } = options
  const sample: string[] = []
  const every = Math.max(1, Math.floor(count / 2_000))
  for (let done = 0; done < count; done += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, index) => {
      const key = nextKey(order, world)
      if ((done + index) % every === 0) sample.push(key)
      // In turn: an entry begins with its intent, and no other way.
      const { intent, outcome } = writesOf(key, options)
      return [store.ledger.intend(intent), store.ledger.settle(outcome)]
    })
    await Promise.all(batch.flat())
  }
  return sample
}

function writesOf(
  key: string,
  { world, tool, settledAt }: FillOptions,
): { readonly intent: LedgerWrite; readonly outcome: LedgerWrite } {
  const callId = world.id()
  const entry: Entry = {
    namespace: 'default',
    scope: scopeOf('default', ACTOR, tool, 'invoke'),
    key,
    id: world.id(),
    state: 'intended',
    revision: 1,
    epoch: world.epoch,
    callId,
    requestId: key,
    dialect: 'v1',
    tool,
    version: '0.0.0',
    digest: `sha256:${'0'.repeat(64)}`,
    operation: 'invoke',
    readOnly: false,
    caller: { actor: ACTOR, namespace: 'default', roles: [], permissions: [], admin: false },
    payload: { inline: { query: 'latest market analysis', limit: 10 } },
    payloadHash: '0'.repeat(64),
    fingerprint: '0'.repeat(64),
    fingerprintFields: [],
    trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16) },
    attempts: 1,
    cancelRequested: false,
    createdAt: settledAt,
  }
  const call: CallRecord = {
    namespace: 'default',
    id: callId,
    requestId: key,
    dialect: 'v1',
    actor: ACTOR,
    tool,
    version: '0.0.0',
    operation: 'invoke',
    entryId: entry.id,
    state: 'succeeded',
    effect: 'done',
    epoch: world.epoch,
    createdAt: settledAt,
    endedAt: settledAt,
  }
  const outcome = { output: { inline: { found: 10 } }, sideEffects: [], warnings: [] }
  return {
    intent: { namespace: 'default', entry: { kind: 'insert', entry } },
    outcome: {
      namespace: 'default',
      entry: {
        kind: 'update',
        scope: entry.scope,
        key,
        revision: 1,
        path: ['sent', 'done'],
        set: { outcome, settledAt },
      },
      calls: [call],
      evidence: [
        { namespace: 'default', callId, type: 'tool.completed', at: settledAt, body: { state: 'succeeded' } },
      ],
    },
  }
}
