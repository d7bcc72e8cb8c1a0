// What the credential of a tool means for sending again: a token that has ended is renewed once, and a key that a tool
// remembers for one credential is not sent with another (S22).
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { failureRow } from '../contract/failures.ts'
import { needOf } from '../transport/credential-need.ts'
import type { Send } from '../transport/transport.ts'
import type { Kit } from './kit.ts'
import type { Admitted } from './stages.ts'

export type FirstCredential = Pick<Entry, 'credential'>

/** Its row says `once`: one more try, beside those that the tool allows. */
export function isRenewable(failure: Failure): boolean {
  return failure.retryable && failureRow(failure.id).retry === 'once'
}

/** A try for a new token does not wait; undefined where there is no time for it. */
export function renewalWait(state: Admitted, kit: Kit): number | undefined {
  return state.abort.aborted || kit.world.clock.monotonic() >= state.deadline ? undefined : 0
}

/** What the first send will be remembered with; nothing for tools to which that does not matter. */
export function firstCredential(state: Admitted, kit: Kit): FirstCredential | Promise<FirstCredential> {
  if (state.continued !== undefined || !isPerCredential(state)) return {}
  const version = kit.credentialVersion?.(state.target.tool, state.abort)
  return version === undefined
    ? {}
    : version.then((credential) => (credential === undefined ? {} : { credential }))
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
