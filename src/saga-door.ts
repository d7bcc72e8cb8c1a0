// Undoing, for one caller: a single call, or a saga of calls that stand or fall together (S29).
import type { Caller } from './contract/caller.ts'
import { isId } from './contract/dialect/decoding.ts'
import type { Entry } from './contract/entry.ts'
import type { Failure } from './contract/failure.ts'
import { createFailure } from './contract/projection.ts'
import type { Saga } from './contract/saga.ts'
import { viewOfEntry } from './contract/shown-call.ts'
import { createSagaLedger, type SagaChange } from './ledger/saga-ledger.ts'
import { compensate, type UndoKit } from './pipeline/compensate.ts'
import { isOwn } from './pipeline/saga-member.ts'
import { BEING_COMPLETED, heed, newsOf, openMembers, type Untold, untoldNews } from './pipeline/saga-state.ts'
import { beginning } from './pipeline/undo-try.ts'
import type { ActionResult, CallerDoor, SagaMember, SagaResult, SagaView } from './runtime-api.ts'
import { onlyUnavailable } from './store/unavailable.ts'

export type SagaDoor = Pick<
  CallerDoor,
  'compensate' | 'openSaga' | 'getSaga' | 'listSagas' | 'completeSaga' | 'abortSaga'
>

export function createSagaDoor(caller: Caller, kit: UndoKit): SagaDoor {
  const { store } = kit
  const sagas = createSagaLedger(kit.world, store)
  const { actor, namespace } = caller

  const find = async (id: string): Promise<Saga | undefined> => {
    const saga = await store.sagas.get(namespace, id)
    return saga !== undefined && (caller.admin || isOwn(saga, caller)) ? saga : undefined
  }

  async function view(saga: Saga): Promise<SagaView> {
    const members = await sagas.members(saga)
    return { ...saga, members: members.map(memberOf).reverse() }
  }

  const ok = async (saga: Saga): Promise<SagaResult> => ({ kind: 'ok', saga: await view(saga) })

  /** Again from the start where somebody else was faster: each time round, the saga has moved on. */
  async function act(id: string, decide: (saga: Saga) => Promise<SagaResult | 'again'>): Promise<SagaResult> {
    return guardStore<SagaResult>(async () => {
      for (;;) {
        const saga = await find(id)
        if (saga === undefined) return { kind: 'not-found' }
        const result = await decide(saga)
        if (result !== 'again') return result
      }
    })
  }

  async function change(saga: Saga, to: SagaChange): Promise<SagaResult | 'again'> {
    const changed = await sagas.change(saga, { ...to, actor })
    return changed === undefined ? 'again' : ok(changed)
  }

  /** A person has decided: what was blocked may take calls again. */
  async function reopen(saga: Saga): Promise<SagaResult | 'again'> {
    if (saga.state === 'open') return ok(saga)
    if (saga.state !== 'blocked') return closed(saga)
    const members = await sagas.members(saga)
    const open = openMembers(members)
    if (open.length > 0) return unfinished(saga, open)
    // What would only stop it again is decided with this; a failure for good is not for anybody to decide.
    for (const entry of members) {
      const news = entry.readOnly ? 'nothing' : newsOf(entry)
      if (typeof news !== 'string' && news.state === 'aborting') return tell(saga, { entry, news })
    }
    const told = members.map((entry) => ({ kind: 'saga', subject: entry.id }) as const)
    return change(saga, { state: 'open', reason: '', timers: [{ kind: 'saga', subject: saga.id }, ...told] })
  }

  /** What became of a member a moment ago counts, though nobody has told its saga yet. */
  async function tell(saga: Saga, { entry, news }: Untold): Promise<SagaResult | 'again'> {
    const changed = await sagas.change(saga, heed(saga, entry.id, news))
    return changed === undefined ? 'again' : closed(changed)
  }

  async function complete(saga: Saga): Promise<SagaResult | 'again'> {
    if (saga.state === 'completed') return ok(saga)
    if (saga.state !== 'open' && saga.state !== 'blocked') return closed(saga)
    const members = await sagas.members(saga)
    const open = openMembers(members)
    if (open.length > 0) return unfinished(saga, open)
    const dropped = { kind: 'saga', subject: saga.id } as const
    if (saga.state === 'blocked') return change(saga, { state: 'completed', reason: '', timers: [dropped] })
    const untold = await untoldNews(members, store.timers)
    const next = untold.find(({ news }) => news.state === 'aborting') ?? untold[0]
    if (next !== undefined) return tell(saga, next)
    // Shut first, then looked at again: a call may have joined since. The timer ends it if this process dies.
    const shut = await sagas.change(saga, {
      state: 'blocked',
      reason: BEING_COMPLETED,
      timers: [{ ...dropped, inMs: COMPLETE_MS, data: { completing: true } }],
      actor,
    })
    if (shut === undefined) return 'again'
    const now = await sagas.members(shut)
    const joined = openMembers(now)
    const isOver = joined.length === 0 && (await untoldNews(now, store.timers)).length === 0
    if (isOver) return change(shut, { state: 'completed', reason: '', timers: [dropped] })
    await sagas.change(shut, { state: 'open', reason: '', timers: [dropped], actor })
    return joined.length === 0 ? 'again' : unfinished(saga, joined)
  }

  async function abort(saga: Saga, reason: string): Promise<SagaResult | 'again'> {
    if (saga.state === 'aborting' || saga.state === 'aborted') return ok(saga)
    if (saga.state === 'completed') return closed(saga)
    const to: SagaChange = {
      state: 'aborting',
      reason,
      timers: [{ kind: 'saga', subject: saga.id, inMs: 0, data: {} }],
      actor,
    }
    const members = saga.state === 'blocked' ? await sagas.members(saga) : []
    const failed = members.find((entry) => entry.state === 'compensation-failed')
    const changed = failed === undefined ? await change(saga, to) : await abortAgain(saga, failed, to)
    return changed
  }

  /** What could not be undone is tried once more, in the same write that sets the saga going. */
  async function abortAgain(saga: Saga, failed: Entry, to: SagaChange): Promise<SagaResult | 'again'> {
    const begun = await beginning(failed, saga.caller, 0, kit)
    if (begun.kind !== 'begin') return { kind: 'refused', failure: begun.failure }
    const { timers = [], facts = [], ...move } = begun.move
    const parts = sagas.parts(saga, { ...to, actor })
    const moved = await kit.ledger.move(failed, {
      ...move,
      timers: [...timers, ...parts.timers],
      saga: parts.saga,
      facts: [...facts, ...parts.evidence.map(({ type, body }) => ({ type, body }))],
    })
    if (moved.kind === 'conflict') return 'again'
    return ok((await find(saga.id)) ?? saga)
  }

  return {
    compensate: (id) =>
      guardStore<ActionResult>(async () => {
        const record = await kit.ledger.call(namespace, id)
        if (record === undefined || !(caller.admin || record.actor === actor)) return { kind: 'not-found' }
        const entry =
          record.entryId === undefined ? undefined : await store.entries.get(namespace, record.entryId)
        if (entry === undefined) return { kind: 'refused', failure: nothingDone(id, record.effect), record }
        const undone = await compensate(entry, caller, kit)
        // Whatever it came to, it was asked for: that it cannot be looked at now changes nothing about that.
        const kept = (await kit.ledger.call(namespace, id).catch(onlyUnavailable)) ?? record
        const now = { ...kept, entry: viewOfEntry('entry' in undone ? undone.entry : entry) }
        return 'failure' in undone
          ? { kind: 'refused', failure: undone.failure, record: now }
          : { kind: 'ok', record: now }
      }),

    openSaga: (id = kit.world.id()) =>
      guardStore<SagaResult>(async () => {
        if (!isId(id)) return { kind: 'refused', failure: noId() }
        const saga = await sagas.open(id, caller)
        if (saga !== undefined) return ok(saga)
        const found = await store.sagas.get(namespace, id)
        if (found === undefined || !isOwn(found, caller)) return { kind: 'refused', failure: taken(id) }
        return act(id, reopen)
      }),

    async getSaga(id) {
      const saga = await find(id)
      return saga && view(saga)
    },

    listSagas: (filter) => store.sagas.list({ ...filter, namespace, ...(caller.admin ? {} : { actor }) }),
    completeSaga: (id) => act(id, complete),
    abortSaga: (id, reason) => act(id, (saga) => abort(saga, reason)),
  }
}

/** Who completes a saga takes far less; after this another process looks whether it died over it. */
const COMPLETE_MS = 10_000

/** A store that is away is a failure like any other; nothing was changed. */
async function guardStore<R>(
  run: () => Promise<R>,
): Promise<R | { readonly kind: 'refused'; readonly failure: Failure }> {
  try {
    return await run()
  } catch (error) {
    onlyUnavailable(error)
    return { kind: 'refused', failure: createFailure('intent-not-recorded') }
  }
}

function memberOf(entry: Entry): SagaMember {
  const { compensation } = entry.outcome ?? {}
  return {
    entryId: entry.id,
    callId: entry.callId,
    tool: entry.tool,
    operation: entry.operation,
    state: entry.state,
    ...(compensation === undefined ? {} : { compensationCallId: compensation.callId }),
  }
}

function closed({ id, state, reason }: Saga): SagaResult {
  const failure = createFailure('saga-closed', {
    message: `saga '${id}' is ${state}${reason === '' ? '' : `: ${reason}`}`,
    details: { saga: id, saga_state: state },
  })
  return { kind: 'refused', failure }
}

function unfinished({ id }: Saga, open: readonly Entry[]): SagaResult {
  const calls = open.map((entry) => `${entry.callId} (${entry.state})`)
  const failure = createFailure('saga-unfinished', {
    message: `saga '${id}' has open calls: ${calls.slice(0, 5).join(', ')}${calls.length > 5 ? ', …' : ''}`,
    details: { saga: id, open: open.map(({ callId, tool, state }) => ({ call_id: callId, tool, state })) },
  })
  return { kind: 'refused', failure }
}

function nothingDone(id: string, effect_state: string): Failure {
  return createFailure('not-compensable', {
    message: `call ${id} cannot be undone: it did nothing`,
    details: { call_id: id, effect_state },
  })
}

function noId(): Failure {
  const message = 'must be an id: 1 to 128 letters, digits or any of . _ : / -'
  return createFailure('envelope-invalid', {
    message: `id: ${message}`,
    details: { violations: [{ path: '/id', message }] },
  })
}

function taken(id: string): Failure {
  return createFailure('saga-closed', {
    message: `saga '${id}' cannot be opened`,
    fix: 'Use another id, or none.',
    details: { saga: id },
  })
}
