// Goes on waiting for a call that waits for people: until it has ended, wherever that is, or the time is up.
import type { Answer } from '../contract/answer.ts'
import type { EntryState } from '../contract/entry.ts'
import { answerOf } from './answer.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry } from './result.ts'
import type { Received } from './stages.ts'

/** What ends here is told by an event; what ends elsewhere is found by looking (S38). */
const FIRST_LOOK_MS = 25
const LONGEST_LOOK_MS = 500

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
  const first = entryId === undefined ? undefined : await kit.ledger.get(namespace, entryId)
  if (first === undefined) return answer
  const until = kit.world.clock.monotonic() + waitMs
  const watch = kit.ledger.watch(first)
  let wake = () => {}
  const heard = (event: { readonly call_id: string }) => {
    if (event.call_id === first.callId) wake()
  }
  const stops = [kit.events.on('call:ended', heard), kit.events.on('approval:decided', heard)]
  try {
    for (let look = FIRST_LOOK_MS; ; look = Math.min(look * 2, LONGEST_LOOK_MS)) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const now = await kit.ledger.get(namespace, first.id)
      if (now === undefined) return answer
      if (!WAITS.includes(now.state)) {
        const { replayed } = answer
        return answerOf(received, { ...resultOfEntry(now), replayed }, kit)
      }
      const left = until - kit.world.clock.monotonic()
      if (left <= 0 || received.abort.aborted || kit.stopping.aborted) return answer
      await Promise.race([woken, watch.changed(Math.min(look, left), received.abort)])
    }
  } finally {
    for (const stop of stops) stop()
    watch.end()
  }
}
