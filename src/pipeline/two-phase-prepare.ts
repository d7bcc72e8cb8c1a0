// The first phase of a two-phase call (S26): what is sent to prepare, what its answer must have, and what is kept of it.
import { asksPeople } from '../contract/decision.ts'
import type { EntryOutcome } from '../contract/entry.ts'
import { createFailure } from '../contract/projection.ts'
import type { Fact } from '../ledger/ledger.ts'
import type { TimerChange } from '../store/store.ts'
import type { Send, Success } from '../transport/transport.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import type { Classified } from './classify.ts'
import { errandInput } from './errand.ts'
import type { Kit } from './kit.ts'
import { type Admitted, type CallResult, type Execution, sentInput, type Verified } from './stages.ts'
import { phaseFact } from './two-phase-entry.ts'

/** A word of the tool that goes back to it in an address or a body. */
const LONGEST_TOOL_TOKEN = 4_096
const SECRET_BYTES = 32

/** The operation itself, unless the tool names another one that prepares. */
export function sentAs(state: Admitted, key: string): Pick<Send, 'operation' | 'input' | 'text'> {
  const prepare = state.operation.effect.twoPhase?.prepare
  const { input, payloadText } = sentInput(state)
  if (prepare === undefined) return { operation: state.operation, input, text: payloadText }
  const operation = state.target.tool.operations[prepare]
  if (operation === undefined) throw new Error(`${state.target.tool.name} has no operation '${prepare}'`)
  return { operation, input: errandInput(key, undefined, input) }
}

/** A prepare that succeeded: without the tool's token nobody could ever commit it. */
export function classifyPrepared(reply: Success, harmless: boolean): Classified {
  const { toolToken, preview } = readPrepared(reply)
  if (toolToken === undefined || toolToken.length > LONGEST_TOOL_TOKEN) {
    const message = `must be a text of 1 to ${LONGEST_TOOL_TOKEN} characters, since the tool has two phases`
    return {
      effect: 'unknown',
      failure: createFailure('output-invalid', {
        message: `/commit_token: ${message}`,
        details: { violations: [{ path: '/commit_token', message }] },
        harmless,
      }),
      sideEffects: reply.sideEffects ?? [],
    }
  }
  return {
    effect: 'prepared',
    output: preview,
    bytes: reply.bytes,
    sideEffects: reply.sideEffects ?? [],
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    toolToken,
  }
}

/** An envelope has a place of its own for the token; a plain answer has it beside the preview, or among it. */
function readPrepared({ output, commitToken }: Success): {
  readonly toolToken?: string
  readonly preview: Json
} {
  if (commitToken !== undefined) return { toolToken: commitToken, preview: output }
  if (!isJsonObject(output)) return { preview: output }
  const { commit_token: token, ...rest } = output
  if (typeof token !== 'string' || token === '') return { preview: output }
  return {
    toolToken: token,
    preview: Object.hasOwn(rest, 'preview') ? (rest.preview ?? null) : (rest as JsonObject),
  }
}

/** What the caller is told: the preview, and a token of ours. The tool's own never leaves. */
export function preparedResult(result: CallResult, state: Verified, kit: Kit): CallResult {
  // With the entry it is about, so that a token alone says what it commits.
  const commitToken = `${state.entry.id}.${kit.world.secret(SECRET_BYTES)}`
  return { ...result, state: 'prepared', commitToken, ...commitByOf(state, kit) }
}

/** What is kept beside that. */
export function preparedOutcome(
  state: Verified,
  told: CallResult,
  kit: Kit,
): Pick<EntryOutcome, 'commitBy' | 'toolToken' | 'agreed'> {
  const { toolToken } = state.execution
  if (state.operation.effect.twoPhase === undefined || toolToken === undefined) return {}
  const { commitBy } = told
  return {
    ...(commitBy === undefined ? commitByOf(state, kit) : { commitBy }),
    toolToken,
    ...agreedTo(state),
  }
}

/** Where somebody had to agree, somebody has: else nothing would have been sent. */
function agreedTo({ decision }: Verified): Pick<EntryOutcome, 'agreed'> {
  const { policyVersion, needs } = decision
  return asksPeople(decision) ? { agreed: { policyVersion, needs } } : {}
}

function commitByOf({ operation }: Verified, kit: Kit): Pick<EntryOutcome, 'commitBy'> {
  const { twoPhase } = operation.effect
  return twoPhase === undefined ? {} : { commitBy: kit.world.clock.now() + twoPhase.deadlineMs }
}

/** It was prepared, and what the tool showed of it is not what it promised: nobody can want to commit that. */
export function isGivenUp({ toolToken, failure }: Execution): boolean {
  return toolToken !== undefined && failure !== undefined
}

export function givenUpFacts({ execution, entry }: Verified): readonly Fact[] {
  return isGivenUp(execution)
    ? [phaseFact('rollback.started', entry, { why: execution.failure?.id ?? '' })]
    : []
}

/** Not committed by then, it is rolled back: set in the write that makes it prepared. */
export function deadlineTimers({ execution, entry, operation }: Verified): readonly TimerChange[] {
  const { twoPhase } = operation.effect
  if (isGivenUp(execution)) return [{ kind: 'rollback', subject: entry.id, inMs: 0, data: { tries: 0 } }]
  if (execution.effect !== 'prepared' || twoPhase === undefined) return []
  return [{ kind: 'commit-deadline', subject: entry.id, inMs: twoPhase.deadlineMs }]
}
