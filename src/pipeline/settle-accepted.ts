// The end of work that a tool had taken on: asked for, reported by the tool itself, over its time, or canceled.
//
// Nobody holds the call any more, so everything is made from what the entry keeps. Whoever is first settles it: the
// write names the revision that it has read.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import { type EffectState, isReadOnly } from '../contract/effect.ts'
import type { Entry, EntryOutcome, EntryState } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure, stateOf } from '../contract/projection.ts'
import type { MoveResult } from '../ledger/ledger.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { FinalReply } from '../transport/transport.ts'
import { emitEntryEnded } from './answer-of-entry.ts'
import { mayRepeat, refusalFailure } from './classify.ts'
import { recordOfEntry, recordWith, withoutOutput } from './closed-record.ts'
import { wakeUndo } from './end-waiting.ts'
import { endedEntryFact } from './evidence-of-entry.ts'
import { canAttach } from './handle.ts'
import type { Kit } from './kit.ts'
import { reconcileTimer } from './reconcile-timer.ts'
import { resultOfEntry } from './result.ts'
import { memberSettled } from './saga-member.ts'
import type { CallResult } from './stages.ts'

export type WorkEnd = FinalReply | { readonly kind: 'overdue' } | { readonly kind: 'canceled' }

interface Found {
  readonly effect: EffectState
  readonly failure?: Failure
  readonly outcome: Omit<EntryOutcome, 'failure'>
}

/** Durable. A conflict means that somebody else was faster. `by` says that the tool has reported it by itself. */
export async function settleAccepted(
  entry: Entry,
  target: CatalogTool,
  end: WorkEnd,
  kit: Kit,
  by?: 'callback',
): Promise<MoveResult> {
  const operation = target.tool.operations[entry.operation]
  if (operation === undefined) throw new Error(`entry ${entry.id} is of no operation of its build`)
  const found = find(entry, target, operation, end, kit)
  const asking =
    found.effect === 'unknown' && canBeAsked({ ...entry, outcome: found.outcome }, target, operation, kit)
  const failure: Failure | undefined =
    found.failure && (asking ? { ...found.failure, asking: true } : found.failure)
  const at = kit.world.clock.now()
  const outcome: EntryOutcome = {
    ...found.outcome,
    ...(failure === undefined ? {} : { failure }),
    ...(by === undefined ? {} : { settledBy: by }),
  }
  const last = lastState(found.effect, failure)
  const path: EntryState[] = entry.state === 'sent' ? [last] : ['sent', last]
  const attempts = entry.state === 'sent' ? entry.attempts : entry.attempts + 1
  const settled = { ...entry, state: last, attempts, outcome }
  const result = stateResult(settled, found.effect, failure)
  const known = (await kit.ledger.call(entry.namespace, entry.callId)) ?? recordOfEntry(entry)
  const record = endedRecord(known, result, at)
  const moved = await kit.ledger.move(entry, {
    path,
    set: { attempts, outcome, settledAt: at },
    calls: [withoutOutput(record)],
    facts: [endedEntryFact(settled, target, result)],
    timers: [
      ...(asking ? [reconcileTimer(entry.id, operation.effect.statusQuery?.quietMs ?? 0, kit.world)] : []),
      ...memberSettled(entry, result),
      ...wakeUndo(entry),
    ],
  })
  if (moved.kind === 'moved') emitEntryEnded(settled, target, record, kit)
  return moved
}

function find(
  entry: Entry,
  target: CatalogTool,
  operation: ResolvedOperation,
  end: WorkEnd,
  kit: Kit,
): Found {
  const before = entry.outcome ?? { sideEffects: [], warnings: [] }
  const { accepted, handle, sideEffects, warnings } = before
  const readOnly = isReadOnly(operation.effect)
  const harmless = readOnly || mayRepeat(operation.effect, entry.createdAt, kit.steadyNow())
  const unknown: EffectState = readOnly ? 'none' : 'unknown'
  // By it the tool can still be asked for what is in question.
  const open = { sideEffects, warnings, ...(handle === undefined ? {} : { handle }) }
  if (end.kind === 'canceled') {
    return { effect: unknown, failure: createFailure('canceled', { harmless }), outcome: open }
  }
  if (end.kind === 'overdue') {
    const failure = createFailure('callback-timeout', { said: { retryable: true, counts: harmless } })
    return { effect: unknown, failure, outcome: open }
  }
  const said = {
    sideEffects: end.sideEffects ?? sideEffects,
    warnings: [...warnings, ...(end.warnings ?? [])],
    ...(end.usage === undefined ? {} : { usage: end.usage }),
  }
  if (end.kind === 'failure') {
    const effect: EffectState = readOnly ? 'none' : end.definite ? 'not-done' : 'unknown'
    const failure = refusalFailure(end, operation.effect, end.definite || harmless)
    return { effect, failure, outcome: effect === 'unknown' ? { ...open, ...said } : said }
  }
  const broken = brokenOutput(entry, target, end.output, end.bytes)
  // A success that breaks its schema is no definite answer (S23), and asking again would bring the same.
  if (broken !== undefined) return { effect: unknown, failure: broken, outcome: said }
  const effect: EffectState = readOnly ? 'none' : 'done'
  if (accepted?.withheld) return { effect, failure: createFailure('output-withheld'), outcome: said }
  const token = end.commitToken === undefined ? {} : { commitToken: end.commitToken }
  return { effect, outcome: { ...said, ...token, output: { inline: end.output } } }
}

function brokenOutput(
  entry: Entry,
  { tool, outputs }: CatalogTool,
  output: Extract<FinalReply, { kind: 'success' }>['output'],
  bytes: number,
): Failure | undefined {
  const limit = tool.limits.outputBytes
  const harmless = entry.readOnly
  if (bytes > limit) {
    return createFailure('output-too-large', { harmless, details: { bytes, limit_bytes: limit } })
  }
  const violations = outputs.get(entry.operation)?.check(output) ?? []
  if (violations.length === 0) return undefined
  const shown = violations.map(({ path, message }) => ({ path, message }))
  return createFailure('output-invalid', { harmless, details: { violations: shown } })
}

/** In question, and the tool can say what became of it: that needs nobody (S27). */
function canBeAsked(entry: Entry, target: CatalogTool, operation: ResolvedOperation, kit: Kit): boolean {
  return operation.effect.statusQuery !== undefined || canAttach(entry, target, kit)
}

function lastState(effect: EffectState, failure: Failure | undefined): EntryState {
  if (failure === undefined || effect === 'done') return 'done'
  if (effect === 'unknown') return 'unknown'
  return failure.id === 'canceled' ? 'canceled' : 'not-done'
}

function stateResult(settled: Entry, effect: EffectState, failure: Failure | undefined): CallResult {
  const result = { ...resultOfEntry(settled), effect, replayed: false }
  return failure === undefined ? result : { ...result, state: stateOf(failure, effect) }
}

/** How long it took is known to nobody but the ledger. */
function endedRecord(known: CallRecord, result: CallResult, at: number): CallRecord {
  const record = recordWith(known, result, at)
  if (record === known || record.answer === undefined) return record
  const usage = { ...record.answer.usage, durationMs: Math.max(0, at - known.createdAt) }
  return { ...record, answer: { ...record.answer, usage } }
}
