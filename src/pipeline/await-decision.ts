// Goes on waiting for a call that waits for people or for long work of its tool: until it has ended, wherever that is,
// or the time is up.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { answerOf } from './answer.ts'
import { joinedResult } from './joined-result.ts'
import type { Kit } from './kit.ts'
import type { CallResult, Received } from './stages.ts'

/** What ends here is told by an event; what ends elsewhere is found by looking (S38). */
const FIRST_LOOK_MS = 25
const LONGEST_LOOK_MS = 500
/** Long work is waited for by many at once. */
const LONGEST_LOOK_AT_WORK_MS = 1_000

const WAITS: readonly EntryState[] = ['awaiting-approval', 'intended', 'sent']

/** `answer` is what is known so far, and is given where nothing else can be said. */
export async function awaitDecision(
  received: Received,
  answer: Answer,
  waitMs: number,
  kit: Kit,
): Promise<Answer> {
  const { entryId } = received.held
  const { namespace } = received.caller
  const first = entryId === undefined ? undefined : await look(namespace, entryId, kit)
  if (first === 'away' || first === undefined) return answer
  const until = kit.world.clock.monotonic() + waitMs
  const watch = kit.ledger.watch(first)
  let wake = () => {}
  const heard = (event: { readonly call_id: string }) => {
    if (event.call_id === first.callId) wake()
  }
  const stops = [
    kit.events.on('call:ended', heard),
    kit.events.on('approval:decided', heard),
    kit.stopping.listen(() => wake()),
  ]
  try {
    const longest = answer.state === 'running' ? LONGEST_LOOK_AT_WORK_MS : LONGEST_LOOK_MS
    for (let rest = FIRST_LOOK_MS; ; rest = Math.min(rest * 2, longest)) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const now = await look(namespace, first.id, kit)
      if (now === undefined) return answer
      const end = now === 'away' ? undefined : await endOf(now, answer, kit)
      if (end !== undefined) return answerOf(received, { ...end, replayed: answer.replayed }, kit)
      const left = until - kit.world.clock.monotonic()
      const abort = isEnded(received) ? kit.stopping : received.abort
      if (left <= 0 || abort.aborted || kit.stopping.aborted) return answer
      await Promise.race([woken, watch.changed(Math.min(rest, left), abort)])
    }
  } finally {
    for (const stop of stops) stop()
    watch.end()
  }
}

/** Canceled while its tool took the work on: whoever follows the work ends it at once, and that is waited for (S11). */
function isEnded({ abort, held }: Received): boolean {
  return abort.reason === 'canceled' && held.detached === true
}

/** Undefined while it waits, is on its way, or nobody can say. */
async function endOf(entry: Entry, answer: Answer, kit: Kit): Promise<CallResult | undefined> {
  try {
    const { result } = await joinedResult(entry, answer, kit)
    return isOutcome(result.state) || !WAITS.includes(entry.state) ? result : undefined
  } catch (error) {
    onlyUnavailable(error)
    return undefined
  }
}

/** A store that cannot be reached says nothing about the call: that it waits is still the best that is known. */
async function look(namespace: string, entryId: string, kit: Kit): Promise<Entry | 'away' | undefined> {
  try {
    return await kit.ledger.get(namespace, entryId)
  } catch (error) {
    onlyUnavailable(error)
    return 'away'
  }
}
