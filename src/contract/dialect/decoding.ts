// What every dialect needs to read a request: minted ids, and the refusal of a request that cannot be read.
import validRange from 'semver/ranges/valid.js'
import type { JsonObject, Violation } from '../../util/json.ts'
import type { DialectName, Trace } from '../call.ts'
import type { FailureId } from '../failures.ts'
import { createFailure } from '../projection.ts'
import { ID_PATTERN, RANGE_MAX_LENGTH } from '../schema/common.ts'
import type { Decoded, Mint } from './dialect.ts'

const ID = new RegExp(ID_PATTERN)

/** The longest piece of a foreign request that an answer repeats. */
const MAX_ECHO = 128

export const DEFAULT_OPERATION = 'invoke'

/** What a request says about itself, before anything of it was checked. */
export interface Seen {
  /** The name of the id in its dialect: an id that cannot be kept is repeated in details under this name. */
  readonly idField: 'request_id' | 'call_id'
  readonly requestId?: unknown
  readonly tool?: unknown
  readonly operation?: unknown
  readonly namespace?: unknown
  readonly traceId?: unknown
  readonly spanId?: unknown
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value)
}

/** Empty text counts as absent. */
export function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/** Leaves out what is undefined, so that absent stays absent. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: Partial<T> = {}
  for (const key of Object.keys(fields) as (keyof T)[]) {
    if (fields[key] !== undefined) kept[key] = fields[key]
  }
  return kept as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Ids are kept as given; those that are absent are minted in the sizes of W3C trace context. */
export function traceOf(traceId: unknown, spanId: unknown, mint: Mint): Trace {
  return {
    traceId: isId(traceId) ? traceId : mint().replaceAll('-', ''),
    // The last half of a UUIDv7 is its random part.
    spanId: isId(spanId) ? spanId : mint().replaceAll('-', '').slice(16),
  }
}

export function refuse(
  dialect: DialectName,
  mint: Mint,
  seen: Seen,
  id: FailureId,
  message: string,
  details: JsonObject,
): Decoded {
  const callId = mint()
  const known = isId(seen.requestId)
  const received = known || typeof seen.requestId !== 'string' ? undefined : seen.requestId.slice(0, MAX_ECHO)
  return {
    ok: false,
    failure: createFailure(id, {
      message,
      details: received === undefined ? details : { ...details, [`received_${seen.idField}`]: received },
    }),
    call: {
      id: callId,
      requestId: known ? (seen.requestId as string) : callId,
      freshId: !known,
      dialect,
      tool: echo(seen.tool) ?? '',
      operation: echo(seen.operation) ?? DEFAULT_OPERATION,
      trace: traceOf(seen.traceId, seen.spanId, mint),
      warnings: [],
      ...defined({ namespace: echo(seen.namespace) }),
    },
  }
}

export function refuseShape(
  dialect: DialectName,
  mint: Mint,
  seen: Seen,
  violations: readonly Violation[],
): Decoded {
  const first = violations[0]
  const where = first === undefined ? '' : `: ${first.path || '/'} ${first.message}`
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return refuse(
    dialect,
    mint,
    seen,
    'envelope-invalid',
    `the ${dialect} request is not valid${where}${more}`,
    {
      violations: violations.map(({ path, message }) => ({ path, message })),
    },
  )
}

export function refuseCredential(dialect: DialectName, mint: Mint, seen: Seen, path: string): Decoded {
  return refuse(dialect, mint, seen, 'inline-credential', `the request carries a raw credential at ${path}`, {
    violations: [{ path, message: 'must not be sent: name a secret instead' }],
  })
}

/** The violation of a version that is no semver range. */
export function rangeViolations(path: string, range: string | undefined): readonly Violation[] {
  if (range === undefined) return []
  if (range.length <= RANGE_MAX_LENGTH && validRange(range) !== null) return []
  return [{ path, message: "must be a semver version or range, such as '1.4.2' or '1.x'" }]
}

function echo(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_ECHO) : undefined
}
