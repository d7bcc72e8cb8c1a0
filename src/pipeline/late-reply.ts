// A reply that came after its attempt was given up: it may still turn an unknown effect into a done one (S28).
import { isInQuestion } from '../contract/entry.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { Reply } from '../transport/transport.ts'
import type { Kit } from './kit.ts'
import { settleUnknown } from './settle-unknown.ts'
import type { Admitted } from './stages.ts'

/** The call has gone on without it; its outcome may not be on record yet. */
export function onLateReply(state: Admitted, attempt: number, reply: Reply, kit: Kit): void {
  // What it has prepared is not done: the next prepare with this key brings the same answer.
  if (reply.kind !== 'success' || state.operation.effect.twoPhase !== undefined) return
  const run = () => settleLate(state, attempt, reply, kit).catch(onlyUnavailable)
  if (state.held.over) run()
  else state.held.onOver = run
}

async function settleLate(
  state: Admitted,
  attempt: number,
  reply: Extract<Reply, { kind: 'success' }>,
  kit: Kit,
): Promise<void> {
  const entry = await kit.ledger.find(state.scope, state.key)
  // Only while no later attempt was sent: its own reply would be about both.
  if (entry === undefined || !isInQuestion(entry) || entry.attempts !== attempt) return
  const check = state.target.outputs.get(state.operation.name)
  if ((check?.check(reply.output) ?? []).length > 0) return
  await settleUnknown(entry, { as: 'done', by: 'late-reply', output: reply.output }, kit)
}
