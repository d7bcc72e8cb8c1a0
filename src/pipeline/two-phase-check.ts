// Whether a prepared effect may be committed (S26). The order is fixed, and each reason is a failure of its own.
import { timingSafeEqual } from 'node:crypto'
import type { Caller } from '../contract/caller.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { permit } from '../governance/permit.ts'
import { sha256Hex } from '../util/canonical.ts'
import type { Kit } from './kit.ts'
import { stopFacts } from './permit.ts'
import { standingOf } from './standing.ts'
import { governedNow } from './two-phase-decide.ts'
import { pinnedPhases } from './two-phase-entry.ts'

const TWO_PHASE_STATES: ReadonlySet<EntryState> = new Set<EntryState>([
  'prepared',
  'committing',
  'committed',
  'commit-unknown',
  'rolling-back',
  'rolled-back',
  'compensating',
  'compensated',
  'compensation-failed',
])

/** Whether the entry was ever prepared: only such a one can be committed or given up. */
export function wasPrepared(entry: Entry): boolean {
  return TWO_PHASE_STATES.has(entry.state) && entry.outcome?.commitBy !== undefined
}

/** undefined when nothing stands in the way. */
export async function commitRefusal(
  entry: Entry,
  caller: Caller,
  token: string,
  kit: Kit,
): Promise<Failure | undefined> {
  if (!isOwn(entry, caller)) return notOwn(entry, 'commit')
  if (!wasPrepared(entry) || !isToken(entry, token)) {
    return createFailure('commit-token-invalid', {
      message: 'this is not the commit_token of the call',
      details: { call_id: entry.callId },
      fix: 'Use the commit_token that the prepared call gave.',
    })
  }
  const details = { call_id: entry.callId, effect_state: entry.state }
  switch (entry.state) {
    case 'rolling-back':
    case 'rolled-back':
      return entry.outcome?.failure ?? createFailure('rolled-back', { details })
    case 'prepared':
      break
    case 'commit-unknown':
      return stillUnknown(entry)
    default:
      return createFailure('commit-repeated', { details })
  }
  const commitBy = entry.outcome?.commitBy ?? 0
  if (kit.world.clock.now() >= commitBy) return createFailure('commit-expired', expired(entry))
  const pinned = pinnedPhases(entry, kit)
  if (pinned === undefined) {
    return createFailure('version-unmatched', {
      message: `the build of ${entry.tool} that has prepared it is no longer here; nothing was committed`,
      details: { ...details, digest: entry.digest },
      fix: 'Apply that version of the tool again, then commit.',
    })
  }
  const standing = standingOf(caller, kit)
  const permission = permit(caller, pinned.target.tool, standing.held)
  if (permission.kind === 'permitted') {
    const stop = kit.authority.stopped(caller, entry.tool, entry.request?.agent)
    return stop === undefined
      ? governedNow(entry, caller, pinned.target.tool, kit)
      : createFailure(...stopFacts(stop))
  }
  return createFailure('permission-denied', {
    message: permission.why,
    details: { missing: permission.missing },
  })
}

/** What is said of a commit in question, to whoever asks for more than that. */
export function stillUnknown({ callId, state, outcome }: Entry): Failure {
  const details = { call_id: callId, effect_state: state }
  return createFailure('commit-unknown', {
    details,
    harmless: false,
    asking: outcome?.failure?.asking === true,
  })
}

export function expired(entry: Entry): { readonly details: Readonly<Record<string, string>> } {
  const at = new Date(entry.outcome?.commitBy ?? 0).toISOString()
  return { details: { call_id: entry.callId, commit_by: at } }
}

export function isOwn(entry: Entry, caller: Caller): boolean {
  return entry.namespace === caller.namespace && entry.caller.actor === caller.actor
}

export function notOwn(entry: Entry, doing: string): Failure {
  return createFailure('permission-denied', {
    message: `only the caller that prepared it may ${doing} it`,
    details: { missing: [], call_id: entry.callId },
  })
}

/** In the same time for every token of whatever length: what is compared are hashes. */
function isToken(entry: Entry, token: string): boolean {
  const known = entry.outcome?.commitToken
  if (known === undefined) return false
  return timingSafeEqual(Buffer.from(sha256Hex(known), 'hex'), Buffer.from(sha256Hex(token), 'hex'))
}
