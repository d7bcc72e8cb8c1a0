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
  /** Can be asked whether it happened. `fencing`: once it said no, what was sent before fails when it arrives (S22). */
  readonly query?: 'quiet' | 'fencing'
  /** How long after its deadline a request may arrive: what `quiet` promises. */
  readonly lateMs?: number
  /** Prepares; the effect is the commit (S26). */
  readonly twoPhase?: true
  /** The tool that undoes it (S29); and the other way round. */
  readonly undoneBy?: string
  readonly undoes?: string
  /** Every call of it waits for so many people, and for so long (S45). */
  readonly approval?: { readonly quorum: 1 | 2; readonly ttlMs: number }
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

/** The longest that a request is on its way, where the tool does not say otherwise. */
export const LATE_MS = 8_000
/** How long a prepared effect waits for its commit, and how much longer the tool really keeps it. */
export const COMMIT_MS = 15_000
export const COMMIT_SLACK_MS = 40_000

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
  { ...base, name: 'mail', kind: 'once', effect: write, timeoutMs: 2_500, rate: { max: 4, perMs: 3_000 } },
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

/** Those that can be asked, prepared or undone. */
export const EFFECT_TOOLS: readonly SimTool[] = [
  { ...base, name: 'wire', kind: 'once', effect: write, query: 'quiet', lateMs: LATE_MS },
  { ...base, name: 'memo', kind: 'once', effect: write, query: 'quiet', lateMs: 300, concurrency: 2 },
  {
    ...base,
    name: 'ticket',
    kind: 'once',
    effect: { ...write, refused_on: [...REFUSED_ON, 409] },
    refusedOn: [...REFUSED_ON, 409],
    query: 'fencing',
  },
  { ...base, name: 'book', kind: 'once', effect: write, twoPhase: true, query: 'quiet', lateMs: LATE_MS },
  { ...base, name: 'hold', kind: 'once', effect: write, twoPhase: true },
  { ...base, name: 'ship', kind: 'once', effect: { class: 'reversible-write' }, undoneBy: 'unship' },
]

/** Nobody calls these but Writ itself. */
const UNDO_TOOLS: readonly SimTool[] = [
  { ...base, name: 'unship', kind: 'once', effect: write, query: 'quiet', lateMs: LATE_MS, undoes: 'ship' },
]

/** Those that people have to agree to, whatever the input. */
export const APPROVAL_TOOLS: readonly SimTool[] = [
  { ...base, name: 'pay', kind: 'once', effect: write, approval: { quorum: 1, ttlMs: 6_000 } },
  {
    ...base,
    name: 'release',
    kind: 'once',
    effect: write,
    query: 'quiet',
    lateMs: LATE_MS,
    approval: { quorum: 2, ttlMs: 9_000 },
  },
  {
    ...base,
    name: 'refund',
    kind: 'keyed',
    effect: {
      ...write,
      determinism: 'idempotent',
      idempotency: { keyed: { header: 'Idempotency-Key', retention: `${RETENTION_MS}ms` } },
    },
    approval: { quorum: 1, ttlMs: 4_000 },
  },
]

export const ALL_TOOLS: readonly SimTool[] = [...SIM_TOOLS, ...EFFECT_TOOLS, ...UNDO_TOOLS, ...APPROVAL_TOOLS]

export const SIM_TOOL_BY_NAME: ReadonlyMap<string, SimTool> = new Map(
  ALL_TOOLS.map((tool) => [tool.name, tool]),
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
      ...(tool.effect === undefined ? {} : { effect: { ...tool.effect, ...namedOf(tool, version) } }),
      ...(tool.harmlessCode === undefined ? {} : { errors: [{ code: tool.harmlessCode, effect: 'none' }] }),
      ...(tool.strict === undefined ? {} : { audit: 'strict' }),
      ...(tool.checked === undefined ? {} : { output_schema: CHECKED_OUTPUT }),
      ...(tool.approval === undefined ? {} : asksOf(tool.approval)),
    },
  }
}

function asksOf({ quorum, ttlMs }: NonNullable<SimTool['approval']>): JsonObject {
  return {
    approval_triggers: [{ field: '/item', op: 'exists', reason: 'whatever it is' }],
    approval: { quorum, ttl: `${ttlMs}ms` },
  }
}

const CHECKED_OUTPUT: JsonObject = {
  type: 'object',
  properties: { run: { type: 'integer' }, input: {} },
  required: ['run', 'input'],
}

/** What the tool can be asked for beside its effect (S27). */
function namedOf(tool: SimTool, version: string): JsonObject {
  const at = `${ORIGIN}${pathOf(tool.name, version)}`
  const query = {
    url: `${at}/status/{key}`,
    ...(tool.query === 'fencing' ? { fencing: true } : { quiet: `${quietOf(tool)}ms` }),
  }
  const phases = {
    commit: { url: `${at}/commit/{token}` },
    rollback: { url: `${at}/rollback/{token}` },
    deadline: `${COMMIT_MS}ms`,
  }
  const undo = { tool: tool.undoneBy ?? '', input_map: { item: '/input/item', run: '/output/run' } }
  return {
    ...(tool.query === undefined ? {} : { status_query: query }),
    ...(tool.twoPhase === undefined ? {} : { two_phase: phases }),
    ...(tool.undoneBy === undefined ? {} : { compensation: undo }),
  }
}

/** True of the tool: nothing that was sent in time arrives later than this after its deadline. */
export function quietOf(tool: SimTool): number {
  return (tool.lateMs ?? LATE_MS) + 100
}

/** All that a plan with these tools needs. */
export function withUndo(names: Iterable<string>): string[] {
  const all = new Set(names)
  for (const name of [...all]) {
    const by = SIM_TOOL_BY_NAME.get(name)?.undoneBy
    if (by !== undefined) all.add(by)
  }
  return [...all].sort()
}
