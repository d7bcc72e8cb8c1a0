// The tools of the simulated world: what is true of each, and the manifest that says so.
import type { JsonObject } from '../../src/util/json.ts'

/** S23's list, once more from its words. */
const REFUSED_ON: readonly number[] = [400, 401, 403, 404, 405, 406, 413, 415, 422, 429]

export type OnRepeat = 'block' | 'replay' | 'approve'

export interface SimTool {
  readonly name: string
  /** What a second arrival of the same request does: nothing, the same once more, nothing while remembered, harm. */
  readonly kind: 'read' | 'natural' | 'keyed' | 'once'
  readonly effect?: JsonObject
  readonly keyHeader: string
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
  readonly timeoutMaxMs?: number
  readonly concurrency?: number
  readonly rate?: { readonly max: number; readonly perMs: number }
  /** Statuses with which it says that it did nothing. */
  readonly refusedOn: readonly number[]
  /** The code of an error with which it says that it did nothing. */
  readonly harmlessCode?: string
  readonly onRepeat?: OnRepeat
  /** Answers are checked against a schema, which a broken answer does not keep. */
  readonly checked?: true
  readonly strict?: true
}

/** How long `charge` is declared to remember a key. */
export const RETENTION_MS = 30_000
/**
 * How much longer it really does. S22 counts from the first send, by the wall clock; a tool counts from the arrival.
 * The declaration is true when the tool makes up for requests that were long on their way and for a clock that was
 * set: both are bounded in this world by less than this.
 */
export const RETENTION_SLACK_MS = 20_000

const base = {
  keyHeader: 'idempotency-key',
  timeoutMs: 900,
  maxAttempts: 3,
  backoffMs: 40,
  maxBackoffMs: 300,
  refusedOn: REFUSED_ON,
} as const
const write = { class: 'external-communication' } as const

function identity(onRepeat: OnRepeat): JsonObject {
  return { fields: ['/item'], on_repeat: onRepeat }
}

export const SIM_TOOLS: readonly SimTool[] = [
  { ...base, name: 'lookup', kind: 'read', effect: { class: 'read-only' }, concurrency: 3 },
  { ...base, name: 'balance', kind: 'read', effect: { class: 'read-only' }, strict: true, maxAttempts: 1 },
  {
    ...base,
    name: 'put',
    kind: 'natural',
    effect: { ...write, determinism: 'idempotent', idempotency: 'natural' },
    timeoutMaxMs: 2_000,
  },
  {
    ...base,
    name: 'charge',
    kind: 'keyed',
    keyHeader: 'x-charge-key',
    effect: {
      ...write,
      determinism: 'idempotent',
      idempotency: { keyed: { header: 'X-Charge-Key', retention: `${RETENTION_MS}ms` } },
    },
  },
  { ...base, name: 'mail', kind: 'once', effect: write, rate: { max: 4, perMs: 3_000 } },
  {
    ...base,
    name: 'order',
    kind: 'once',
    effect: { ...write, refused_on: [409, 429] },
    refusedOn: [409, 429],
    harmlessCode: 'sold_out',
    checked: true,
    concurrency: 2,
  },
  { ...base, name: 'undeclared', kind: 'once', timeoutMs: 400, maxAttempts: 4 },
  {
    ...base,
    name: 'transfer',
    kind: 'once',
    effect: { class: 'financial-high-impact', identity: identity('block') },
    onRepeat: 'block',
  },
  {
    ...base,
    name: 'publish',
    kind: 'once',
    effect: { ...write, identity: identity('replay') },
    onRepeat: 'replay',
  },
  {
    ...base,
    name: 'invite',
    kind: 'once',
    effect: { ...write, identity: identity('approve') },
    onRepeat: 'approve',
  },
]

export const SIM_TOOL_BY_NAME: ReadonlyMap<string, SimTool> = new Map(
  SIM_TOOLS.map((tool) => [tool.name, tool]),
)

export const ORIGIN = 'http://tools.test'
export const VERSIONS = ['1.0.0', '1.1.0'] as const

/** Where a version of a tool is reached. */
export function pathOf(tool: string, version: string): string {
  return `/${tool}/${version}`
}

export function manifestOf(tool: SimTool, version: string): JsonObject {
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: tool.name },
    spec: {
      type: 'http',
      version,
      endpoint: `${ORIGIN}${pathOf(tool.name, version)}`,
      runtime: {
        timeout: `${tool.timeoutMs}ms`,
        retry: {
          max_attempts: tool.maxAttempts,
          backoff: `${tool.backoffMs}ms`,
          max_backoff: `${tool.maxBackoffMs}ms`,
          jitter: 'full',
        },
      },
      limits: {
        ...(tool.timeoutMaxMs === undefined ? {} : { timeout_max: `${tool.timeoutMaxMs}ms` }),
        ...(tool.concurrency === undefined ? {} : { concurrency: tool.concurrency }),
        ...(tool.rate === undefined ? {} : { rate: { max: tool.rate.max, per: `${tool.rate.perMs}ms` } }),
      },
      ...(tool.effect === undefined ? {} : { effect: tool.effect }),
      ...(tool.harmlessCode === undefined ? {} : { errors: [{ code: tool.harmlessCode, effect: 'none' }] }),
      ...(tool.strict === undefined ? {} : { audit: 'strict' }),
      ...(tool.checked === undefined ? {} : { output_schema: CHECKED_OUTPUT }),
    },
  }
}

const CHECKED_OUTPUT: JsonObject = {
  type: 'object',
  properties: { run: { type: 'integer' }, input: {} },
  required: ['run', 'input'],
}
