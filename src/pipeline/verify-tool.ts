// Whether a tool does what it declares about repeats: one key is sent twice, and what comes back is compared.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Answer } from '../contract/answer.ts'
import type { Caller } from '../contract/caller.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure, isRepeatHarmless } from '../contract/projection.ts'
import { mayInvokeName, permit } from '../governance/permit.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import { canonicalJson } from '../util/canonical.ts'
import { runAttempt } from './attempt.ts'
import type { Kit } from './kit.ts'
import { sendAbout } from './send-about.ts'
import { standingOf } from './standing.ts'

export type Probe =
  | { readonly kind: 'ready'; readonly target: CatalogTool; readonly operation: ResolvedOperation }
  | { readonly kind: 'refused'; readonly failure: Failure }

/** Whether there is something to verify, and whether that is safe to do. */
export function prepareProbe(
  name: string,
  options: { readonly version?: string; readonly operation?: string; readonly accept: boolean },
  caller: Caller,
  kit: Kit,
): Probe {
  const refused = (failure: Failure): Probe => ({ kind: 'refused', failure })
  const { held } = standingOf(caller, kit)
  // Whoever may not call it learns nothing of it (S41).
  if (!mayInvokeName(caller, name, held)) {
    const missing = [`tool:${name}:invoke`]
    const message = `${caller.actor} lacks tool:${name}:invoke`
    return refused(createFailure('permission-denied', { message, details: { missing } }))
  }
  const found = kit.catalog.resolve(caller.namespace, name, options.version, kit.world.clock.now())
  if (found.kind === 'failed') {
    return refused(createFailure(found.failure, { message: found.message, details: found.details }))
  }
  const permission = permit(caller, found.tool.tool, held)
  if (permission.kind === 'denied') {
    const details = { missing: permission.missing }
    return refused(createFailure('permission-denied', { message: permission.why, details }))
  }
  const { operations } = found.tool.tool
  const wanted = options.operation ?? 'invoke'
  const operation = Object.hasOwn(operations, wanted) ? operations[wanted] : undefined
  if (operation === undefined || operation.internal) {
    return refused(createFailure('operation-unknown', { message: `'${name}' has no operation '${wanted}'` }))
  }
  const { effect } = operation
  if (!isRepeatHarmless(effect) || effect.repeat === 'two-phase') {
    return refused(
      createFailure('constraint-outside-limits', {
        message: `'${name}' does not declare that a repeat is harmless: there is nothing to verify`,
        fix: 'Declare effect.idempotency, or leave it: such a tool is never sent the same key twice.',
      }),
    )
  }
  if (effect.class !== 'read-only' && !options.accept) {
    return refused(
      createFailure('constraint-outside-limits', {
        message: `verifying '${name}' brings its effect about once (class ${effect.class})`,
        fix: 'Use an input that does no harm, and say that you accept one real effect.',
      }),
    )
  }
  return { kind: 'ready', target: found.tool, operation }
}

/** The second send of a key whose first send gave `first`. On record before it leaves. */
export async function sendTwice(
  entry: Entry,
  first: Answer,
  target: CatalogTool,
  operation: ResolvedOperation,
  kit: Kit,
): Promise<{ readonly same: boolean; readonly detail: string }> {
  const transport = kit.transport(target.tool.type)
  if (transport === undefined) throw new Error(`no transport for ${target.tool.type}`)
  await kit.ledger.record(entry.namespace, entry.callId, {
    type: 'tool.probed',
    body: { entry_id: entry.id, tool: entry.tool, digest: entry.digest, attempt: entry.attempts + 1 },
  })
  const again = { ...entry, attempts: entry.attempts + 1 }
  const { reply } = await runAttempt(
    transport,
    (abort) => sendAbout(again, target.tool, operation, operation.timeoutMs, abort, kit.world),
    kit.stopping,
    () => {},
    kit.world,
    { maySend: () => kit.ledger.maySend },
  )
  if (reply === undefined) return { same: false, detail: 'the second send got no answer in time' }
  if (reply.kind === 'failure') {
    return { same: false, detail: `the second send failed: ${reply.message ?? reply.failure}` }
  }
  return canonicalJson(reply.output) === canonicalJson(first.output ?? null)
    ? { same: true, detail: 'both sends of one key gave the same output' }
    : { same: false, detail: 'the second send of the same key gave another output' }
}
