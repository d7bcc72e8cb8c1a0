// An effect that was in question is known: by asking the tool, by a late reply, or because a person says so (S27, S28).
import { type Entry, type EntryOutcome, type EntryState, IN_QUESTION } from '../contract/entry.ts'
import { createFailure } from '../contract/projection.ts'
import type { MoveResult } from '../ledger/ledger.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { recordOfEntry, recordWith, withoutOutput } from './closed-record.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry } from './result.ts'
import { memberSettled } from './saga-member.ts'
import { deadlineLeft } from './two-phase-entry.ts'

export interface Finding {
  readonly as: 'done' | 'not-done'
  readonly by: 'status-query' | 'late-reply' | 'person'
  /** What the call would have returned, where that is known. */
  readonly output?: Json
  readonly warning?: string
  /** For evidence: who said so and why. */
  readonly facts?: JsonObject
}

/** Where an entry in question goes. A commit that did not happen is prepared again. */
const TO: Record<(typeof IN_QUESTION)[number], Record<Finding['as'], EntryState>> = {
  unknown: { done: 'done', 'not-done': 'not-done' },
  reconciling: { done: 'done', 'not-done': 'not-done' },
  'commit-unknown': { done: 'committed', 'not-done': 'prepared' },
}

/** Durable. A conflict means that somebody else moved the entry meanwhile. */
export async function settleUnknown(entry: Entry, finding: Finding, kit: Kit): Promise<MoveResult> {
  const state = IN_QUESTION.find((one) => one === entry.state)
  if (state === undefined) throw new Error(`entry ${entry.id} is ${entry.state}: nothing is in question`)
  const to = TO[state][finding.as]
  const at = kit.world.clock.now()
  const outcome = outcomeOf(entry, finding, to)
  const result = { ...resultOfEntry({ ...entry, state: to, outcome }), replayed: false }
  const known = await kit.ledger.call(entry.namespace, entry.callId)
  const record = withoutOutput(recordWith(known ?? recordOfEntry(entry), result, at))
  const moved = await kit.ledger.move(entry, {
    path: [to],
    set: { outcome, settledAt: at },
    calls: [record],
    facts: [
      {
        type: 'effect.settled',
        body: {
          entry_id: entry.id,
          tool: entry.tool,
          operation: entry.operation,
          from: entry.state,
          to,
          settled_by: finding.by,
          attempt: entry.attempts,
          ...finding.facts,
        },
      },
    ],
    timers: [
      { kind: 'reconcile', subject: entry.id },
      ...(to === 'prepared' ? [deadlineLeft(entry, kit)] : []),
      ...memberSettled(entry, result),
    ],
  })
  if (moved.kind === 'moved') {
    kit.events.emit('entry:settled', {
      entry_id: entry.id,
      call_id: entry.callId,
      tool_id: entry.tool,
      state: to,
      by: finding.by,
    })
  }
  return moved
}

function outcomeOf(entry: Entry, finding: Finding, to: EntryState): EntryOutcome {
  const before = entry.outcome ?? { sideEffects: [], warnings: [] }
  const { failure, ...kept } = before
  const warnings = finding.warning === undefined ? before.warnings : [...before.warnings, finding.warning]
  const base: EntryOutcome = { ...kept, warnings, settledBy: finding.by }
  if (to === 'prepared') return base
  if (finding.as === 'done') {
    return finding.output === undefined ? base : { ...base, output: { inline: finding.output } }
  }
  const { transient: _, ...details } = failure?.details ?? {}
  return {
    ...base,
    failure: createFailure(failure?.id ?? 'interrupted', {
      ...(failure === undefined ? {} : { message: `${failure.message}; it did not happen` }),
      details: { ...details, settled_by: finding.by },
      // Nothing happened, for certain: it may be sent again.
      said: { retryable: true, counts: true },
    }),
  }
}
