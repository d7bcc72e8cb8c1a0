// What the credential of a tool means for sending again: a token that has ended is renewed once, and a key that a tool
// remembers for one credential is not sent with another (S22).
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { failureRow } from '../contract/failures.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import { needOf } from '../transport/credential-need.ts'
import type { Send } from '../transport/transport.ts'
import type { Kit } from './kit.ts'
import type { Admitted } from './stages.ts'

export interface FirstCredential extends Pick<Entry, 'credential'> {
  readonly shown?: string
}

/** Its row says `once`: one more try, beside those that the tool allows. */
export function isRenewable(failure: Failure): boolean {
  return failure.retryable && failureRow(failure.id).retry === 'once'
}

/** A try for a new token does not wait; undefined where there is no time for it. */
export function renewalWait(state: Admitted, kit: Kit): number | undefined {
  return state.abort.aborted || kit.world.clock.monotonic() >= state.deadline ? undefined : 0
}

/**
 * What the first send will be remembered with; nothing for tools to which that does not matter. `spoken`: the tool may say
 * something about the work later, to a process that has never seen what it is shown now.
 */
export function firstCredential(
  state: Admitted,
  spoken: boolean,
  kit: Kit,
): FirstCredential | Promise<FirstCredential> {
  const { tool } = state.target
  if (state.continued !== undefined || needOf(tool) === undefined) return {}
  const kept = isPerCredential(state)
  if (!kept && !spoken) return {}
  return rememberedBy(state, kept, spoken, kit)
}

async function rememberedBy(
  { abort, call, caller, key, scope, target: { tool } }: Admitted,
  kept: boolean,
  spoken: boolean,
  kit: Kit,
): Promise<FirstCredential> {
  const of = { namespace: caller.namespace, key: toolKeyOf(scope, key) }
  const [credential, shown] = await Promise.all([
    kept ? kit.credentialVersion?.(tool, abort) : undefined,
    spoken ? kit.shownNote?.(tool, of, call.constraints.scopes, abort) : undefined,
  ])
  return {
    ...(credential === undefined ? {} : { credential }),
    ...(shown === undefined ? {} : { shown }),
  }
}

/** Whether a repeat would be one to the tool. A secret that cannot be read now is none to send with, whatever it is. */
export async function sameCredential(state: Admitted, entry: Entry, kit: Kit): Promise<boolean> {
  if (!isPerCredential(state)) return true
  const now = await kit.credentialVersion?.(state.target.tool, state.abort)
  return now === undefined || now === entry.credential
}

/** For a repeat: it is held to the credential of the first send until the very moment in which it leaves. */
export function onlyWith(state: Admitted, entry: Entry): Pick<Send, 'credentialVersion'> {
  return isPerCredential(state) ? { credentialVersion: entry.credential ?? '' } : {}
}

function isPerCredential({ operation, target }: Admitted): boolean {
  const { repeat, keyed } = operation.effect
  return repeat === 'keyed' && keyed?.scope !== 'tool' && needOf(target.tool) !== undefined
}
