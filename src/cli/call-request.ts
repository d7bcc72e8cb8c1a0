// A request in each dialect, from the flags of one command line.
import type { DialectName } from '../contract/call.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { usageError } from './cli-error.ts'
import type { FlagSpec } from './command.ts'
import type { Terminal } from './terminal.ts'

/** What both `call` and `explain call` say about a call. */
export const CALL_FLAGS = {
  operation: {
    type: 'string',
    description: "The operation of the tool. Default: the tool's own.",
    placeholder: 'NAME',
  },
  version: {
    type: 'string',
    description: 'A semver range; the highest live version when absent.',
    placeholder: 'RANGE',
  },
  key: { type: 'string', description: 'The idempotency key: one per intended effect.', placeholder: 'KEY' },
  timeout: { type: 'duration', description: 'Bounds one attempt.' },
  deadline: { type: 'duration', description: 'When to stop listening, from now.' },
  'request-id': {
    type: 'string',
    description: 'Your own id of the call; the same id again is the same call. Default: a new one.',
    placeholder: 'ID',
  },
  saga: { type: 'string', description: 'The saga that the call is a member of.', placeholder: 'ID' },
} as const satisfies Record<string, FlagSpec>

export interface CallWish {
  readonly tool: string
  readonly operation: string | undefined
  readonly version: string | undefined
  readonly key: string | undefined
  readonly timeout: number | undefined
  readonly deadline: number | undefined
  readonly 'request-id': string | undefined
  readonly saga: string | undefined
  readonly input: Json | undefined
  readonly dryRun: boolean
}

export function buildCallRequest(terminal: Terminal, dialect: DialectName, wish: CallWish): JsonObject {
  return { v1: buildV1, legacy: buildLegacy, 'four-outcome': buildFourOutcome }[dialect](terminal, wish)
}

function buildV1(terminal: Terminal, wish: CallWish): JsonObject {
  const { operation, version, key, timeout, deadline, input } = wish
  return {
    tool_contract_version: 'v1',
    request_id: wish['request-id'] ?? terminal.id(),
    tool: {
      name: wish.tool,
      ...(operation === undefined ? {} : { operation }),
      ...(version === undefined ? {} : { version }),
    },
    ...(input === undefined ? {} : { input }),
    ...(timeout === undefined ? {} : { runtime: { timeout_ms: wholeMs(timeout) } }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...(deadline === undefined ? {} : { deadline_unix_ms: deadlineOf(terminal, deadline) }),
    ...(wish.saga === undefined ? {} : { saga: wish.saga }),
    ...(wish.dryRun ? { dry_run: true } : {}),
  }
}

function buildLegacy(terminal: Terminal, wish: CallWish): JsonObject {
  for (const flag of ['version', 'timeout', 'deadline', 'saga'] as const) {
    if (wish[flag] !== undefined) throw cannotSay('legacy', `--${flag}`)
  }
  if (wish.dryRun) throw cannotSay('legacy', '--dry-run')
  const { operation, key, input } = wish
  return {
    request_id: wish['request-id'] ?? terminal.id(),
    tool: wish.tool,
    ...(operation === undefined ? {} : { action: operation }),
    ...(input === undefined ? {} : { parameters: input }),
    ...(key === undefined ? {} : { idempotency_key: key }),
  }
}

function cannotSay(dialect: DialectName, flag: string): Error {
  return usageError(`the ${dialect} dialect has no field for ${flag}`, 'leave it out, or use --dialect v1')
}

/** This dialect demands every bound; the runtime's own default of one attempt stands where none is given (S9). */
const DEFAULT_TIMEOUT_MS = 30_000
/** Room for the attempts after the first. */
const DEFAULT_DEADLINE_MS = 120_000

function buildFourOutcome(terminal: Terminal, wish: CallWish): JsonObject {
  if (wish.saga !== undefined) throw cannotSay('four-outcome', '--saga')
  const callId = wish['request-id'] ?? terminal.id()
  return {
    call_id: callId,
    tool_id: wish.tool,
    tool_version: wish.version ?? '*',
    fn: wish.operation ?? 'invoke',
    input: wish.input ?? {},
    context: { actor_id: 'writ-cli', trace_id: terminal.id(), timezone: 'UTC', env: 'dev' },
    constraints: {
      timeout_ms: wholeMs(wish.timeout ?? DEFAULT_TIMEOUT_MS),
      deadline_unix_ms: deadlineOf(terminal, wish.deadline ?? DEFAULT_DEADLINE_MS),
      idempotency_key: wish.key ?? callId,
    },
    ...(wish.dryRun ? { dry_run: true } : {}),
  }
}

function wholeMs(ms: number): number {
  return Math.max(1, Math.round(ms))
}

function deadlineOf(terminal: Terminal, ms: number): number {
  return Math.round(terminal.clock.now() + ms)
}
