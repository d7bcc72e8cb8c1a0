// One send of a named operation about an entry (S27): asking, committing, taking back. Never sent again from here:
// whoever sends it knows whether it may be.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Entry } from '../contract/entry.ts'
import type { Refusal, Reply, Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { type AttemptOutcome, runAttempt } from './attempt.ts'
import type { Kit } from './kit.ts'
import { sendAbout } from './send-about.ts'

export interface Errand {
  readonly entry: Entry
  readonly target: CatalogTool
  /** As the effect rule names it. */
  readonly operation: string
  /** What the tool gave with its prepare. */
  readonly toolToken?: string
  /** The operation's own where absent. */
  readonly timeoutMs?: number
  readonly abort?: Abort
  /** Hears of a reply that came after the errand was given up. */
  readonly onLate?: (reply: Reply) => void
}

export function runErrand(errand: Errand, kit: Kit): Promise<AttemptOutcome> {
  const { entry, target, toolToken } = errand
  const { tool } = target
  const operation = Object.hasOwn(tool.operations, errand.operation)
    ? tool.operations[errand.operation]
    : undefined
  const transport = kit.transport(tool.type)
  if (operation === undefined || transport === undefined) {
    const message = `${tool.name} ${tool.version} has no way to send '${errand.operation}'`
    return Promise.resolve(notSent('config-invalid', message))
  }
  if (!kit.ledger.maySend) {
    return Promise.resolve(notSent('intent-not-recorded', 'the ledger cannot be written; nothing was sent'))
  }
  const timeoutMs = Math.min(errand.timeoutMs ?? operation.timeoutMs, operation.timeoutMs)
  const send = (abort: Abort): Send => {
    const { input, text: _, ...about } = sendAbout(entry, tool, operation, timeoutMs, abort, kit.world)
    return {
      ...about,
      input: errandInput(about.key, toolToken, input),
      ...(toolToken === undefined ? {} : { commitToken: toolToken }),
    }
  }
  return runAttempt(transport, send, errand.abort ?? kit.stopping, () => {}, kit.world, {
    maySend: () => kit.ledger.maySend,
    ...(errand.onLate === undefined ? {} : { late: errand.onLate }),
  })
}

/** What a named operation is given: which call it is about, and what that call was (S27). */
export function errandInput(key: string, toolToken: string | undefined, input: Json | undefined): JsonObject {
  return {
    idempotency_key: key,
    ...(toolToken === undefined ? {} : { commit_token: toolToken }),
    ...(input === undefined ? {} : { input }),
  }
}

function notSent(failure: Refusal['failure'], message: string): AttemptOutcome {
  return {
    sent: false,
    reply: { kind: 'failure', failure, message, details: {}, definite: true },
    aborted: undefined,
  }
}
