// Calls made in-process. They obey the rules of the wire and speak v1.
import { checkJson } from '../util/check-json.ts'
import { didYouMean } from '../util/did-you-mean.ts'
import { isJsonObject, type Json, type Violation } from '../util/json.ts'
import { pointer } from '../util/pointer.ts'
import type { Call, Trace } from './call.ts'
import {
  DEFAULT_OPERATION,
  defined,
  isId,
  rangeViolations,
  refuseShape,
  traceOf,
} from './dialect/decoding.ts'
import type { Decoded, Mint } from './dialect/dialect.ts'
import { createFailure } from './projection.ts'
import { KEY_MAX_LENGTH, RANGE_MAX_LENGTH } from './schema/common.ts'

export interface CallOptions {
  readonly tool: string
  readonly input?: Json
  /** `invoke` when absent. */
  readonly operation?: string
  /** A semver range; the highest live version when absent. */
  readonly version?: string
  readonly namespace?: string
  /** Minted when absent; then nothing can be recalled for it. */
  readonly requestId?: string
  /** One per intended effect. */
  readonly idempotencyKey?: string
  readonly deadlineUnixMs?: number
  /** Bounds one attempt. */
  readonly timeoutMs?: number
  readonly maxAttempts?: number
  readonly dryRun?: boolean
  readonly saga?: string
  readonly taskId?: string
  readonly agent?: string
  readonly trace?: { readonly traceId: string; readonly spanId?: string }
}

type Rule = (value: unknown) => string | undefined

const text =
  (max: number): Rule =>
  (value) =>
    typeof value === 'string' && value.length >= 1 && value.length <= max
      ? undefined
      : `must be text of 1 to ${max} characters`

const whole =
  (minimum: number): Rule =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= minimum
      ? undefined
      : `must be a whole number of at least ${minimum}`

const id: Rule = (value) =>
  isId(value) ? undefined : 'must be an id: 1 to 128 letters, digits or any of . _ : / -'

/**
 * One rule per option. No compiled schema: that would be state shared by every runtime of the process. Version, input
 * and trace are checked as a whole below.
 */
const RULES: Readonly<Record<keyof CallOptions, Rule>> = {
  tool: text(253),
  input: () => undefined,
  operation: text(256),
  version: text(RANGE_MAX_LENGTH),
  namespace: text(256),
  requestId: id,
  idempotencyKey: text(KEY_MAX_LENGTH),
  deadlineUnixMs: whole(0),
  timeoutMs: whole(1),
  maxAttempts: whole(1),
  dryRun: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  saga: id,
  taskId: text(256),
  agent: text(256),
  trace: (value) =>
    isJsonObject(value) && isId(value.traceId) && (value.spanId === undefined || isId(value.spanId))
      ? undefined
      : 'must be { traceId, spanId? }, both ids',
}

function violationsOf(options: CallOptions): readonly Violation[] {
  const found: Violation[] = []
  if (options.tool === undefined) found.push({ path: '/tool', message: 'must be there' })
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const message = Object.hasOwn(RULES, name) ? RULES[name as keyof CallOptions](value) : unknownOption(name)
    if (message !== undefined) found.push({ path: pointer([name]), message })
  }
  if (found.length === 0) found.push(...rangeViolations('/version', options.version))
  if (options.input === undefined) return found
  // On the wire the parser has done this (S3); a program can hand over anything.
  for (const { path, message } of checkJson(options.input)) found.push({ path: `/input${path}`, message })
  return found
}

function unknownOption(name: string): string {
  const close = didYouMean(name, Object.keys(RULES))
  return close === undefined ? 'is not a known option' : `is not a known option: did you mean '${close}'?`
}

/** A v1 call from the options of a library user; what breaks a rule is a failure like any other, not an exception. */
export function createCall(options: CallOptions, mint: Mint): Decoded {
  const { traceId, spanId }: Partial<Trace> = options.trace ?? {}
  const violations = violationsOf(options)
  if (violations.length > 0) {
    const { requestId, tool, operation, namespace } = options
    const seen = { idField: 'request_id', requestId, tool, operation, namespace, traceId, spanId } as const
    return refuseShape('v1', mint, seen, violations)
  }
  return {
    ok: true,
    call: {
      id: mint(),
      requestId: options.requestId ?? mint(),
      freshId: options.requestId === undefined,
      dialect: 'v1',
      tool: options.tool,
      operation: options.operation ?? DEFAULT_OPERATION,
      dryRun: options.dryRun ?? false,
      trace: traceOf(traceId, spanId, mint),
      constraints: defined({ timeoutMs: options.timeoutMs, maxAttempts: options.maxAttempts }),
      claims: {},
      warnings: [],
      ...defined({
        namespace: options.namespace,
        version: options.version,
        input: options.input,
        key: options.idempotencyKey,
        deadlineUnixMs: options.deadlineUnixMs,
        saga: options.saga,
        taskId: options.taskId,
        agent: options.agent,
      }),
    },
  }
}

/**
 * The call with the key of an `Idempotency-Key` header, quoted or not. A request has one key: another one in its body
 * is refused, because which of them the caller means cannot be guessed.
 */
export function withKey(call: Call, header: string): Decoded {
  const trimmed = header.trim()
  const key = /^".*"$/s.test(trimmed) && trimmed.length >= 2 ? trimmed.slice(1, -1) : trimmed
  if (key === '' || key.length > KEY_MAX_LENGTH) {
    return refuseKey(call, `the Idempotency-Key header must have 1 to ${KEY_MAX_LENGTH} characters`)
  }
  if (call.key !== undefined && call.key !== key) {
    return refuseKey(call, 'the Idempotency-Key header and the key in the request differ: send one')
  }
  return { ok: true, call: { ...call, key } }
}

function refuseKey(call: Call, message: string): Decoded {
  const failure = createFailure('envelope-invalid', {
    message,
    details: { violations: [{ path: '', message }] },
  })
  return { ok: false, failure, call }
}
