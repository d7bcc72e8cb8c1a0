// How sagas are kept: each change is a compare-and-set on the revision, with its evidence and its timers in one write.
import type { Caller } from '../contract/caller.ts'
import type { Entry } from '../contract/entry.ts'
import type { Saga, SagaState } from '../contract/saga.ts'
import type { LedgerWrite, SagaWrite, Store, TimerChange } from '../store/store.ts'
import type { World } from '../util/world.ts'

export interface SagaLedger {
  /** Undefined when there is one with this id already. */
  open(id: string, caller: Caller): Promise<Saga | undefined>
  /** The saga as it now is; undefined when it changed since it was read. */
  change(saga: Saga, to: SagaChange): Promise<Saga | undefined>
  /** The same, as parts of a write that does more. */
  parts(saga: Saga, to: SagaChange): SagaParts
  /** All of them, the newest first: the order in which they are undone. */
  members(saga: Saga): Promise<readonly Entry[]>
}

export interface SagaChange {
  readonly state: SagaState
  /** The one before stays where absent. */
  readonly reason?: string
  readonly timers?: readonly TimerChange[]
  /** Who decided, where that was somebody. */
  readonly actor?: string
}

export interface SagaParts {
  readonly saga: SagaWrite
  readonly timers: readonly TimerChange[]
  readonly evidence: NonNullable<LedgerWrite['evidence']>
}

const PAGE = 500

export function createSagaLedger(world: World, store: Store): SagaLedger {
  function parts(saga: Saga, { state, reason, timers = [], actor }: SagaChange): SagaParts {
    const at = world.clock.now()
    const ended = state === 'completed' || state === 'aborted'
    return {
      saga: {
        kind: 'update',
        id: saga.id,
        revision: saga.revision,
        state,
        ...(reason === undefined ? {} : { reason }),
        ...(ended ? { endedAt: at } : {}),
      },
      timers,
      evidence: [
        {
          namespace: saga.namespace,
          callId: saga.id,
          type: `saga.${state}`,
          at,
          body: {
            saga: saga.id,
            from: saga.state,
            ...(actor === undefined ? {} : { actor }),
            ...(reason === undefined ? {} : { reason }),
          },
        },
      ],
    }
  }

  return {
    async open(id, caller) {
      const { namespace, actor } = caller
      const at = world.clock.now()
      const saga: Saga = { namespace, id, caller, state: 'open', revision: 1, reason: '', createdAt: at }
      const written = await store.ledger.intend({
        namespace,
        saga: { kind: 'insert', saga },
        evidence: [{ namespace, callId: id, type: 'saga.opened', at, body: { saga: id, actor } }],
      })
      return written.kind === 'written' ? saga : undefined
    },

    parts,

    async change(saga, to) {
      const written = await store.ledger.intend({ namespace: saga.namespace, ...parts(saga, to) })
      if (written.kind === 'conflict') return undefined
      return store.sagas.get(saga.namespace, saga.id)
    },

    async members({ namespace, id }) {
      const found: Entry[] = []
      for (;;) {
        const before = found.at(-1)?.id
        const page = await store.entries.list({
          namespace,
          saga: id,
          limit: PAGE,
          ...(before === undefined ? {} : { before }),
        })
        found.push(...page)
        if (page.length < PAGE) return found
      }
    },
  }
}
