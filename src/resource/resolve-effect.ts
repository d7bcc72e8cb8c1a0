// From a declared effect to the row of the table S22 that governs every send.
import type { Determinism, EffectClass, EffectRule, Repeat } from '../contract/effect.ts'
import type { JsonObject } from '../util/json.ts'
import type { EffectDeclaration } from './effect-schema.ts'
import { mayHaveField, toPointer } from './input-field.ts'
import { resolveNamed } from './named-operation.ts'
import type { NamedRequests } from './named-way.ts'
import type { Path } from './problem.ts'
import { MEMORY_BOUNDS, type ResolveContext } from './resolve-context.ts'
import type { OperationClass } from './resolved-tool.ts'

/** S23. */
export const REFUSED_ON: readonly number[] = Object.freeze([400, 401, 403, 404, 405, 406, 413, 415, 422, 429])
const KEY_HEADER = 'Idempotency-Key'
const IDENTITY_WINDOW_MS = 86_400_000
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/** Headers that a key must not overwrite. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'content-type',
  'host',
  'traceparent',
  'cookie',
])

export interface EffectSource {
  readonly effect: EffectDeclaration | undefined
  /** Where `effect` is, or where it would be written. */
  readonly path: Path
  /** Only what was declared: a default taken from the risk earns nothing (S21). */
  readonly classes: readonly OperationClass[] | undefined
  readonly inputSchema: JsonObject | undefined
  /** The operation whose own effect this is; empty for the effect of the tool. */
  readonly owner: string
  /** The operation that the effect is of, where it is of no other one. */
  readonly self: string | undefined
  /** The effect of the tool names this operation: what it names is for the others. */
  readonly serves: boolean
}

export interface ResolvedEffect {
  readonly rule: EffectRule
  /** Where named operations go that are no operation of the tool. */
  readonly requests: NamedRequests
}

export function resolveEffect(context: ResolveContext, whole: EffectSource): ResolvedEffect {
  const source = whole.serves ? { ...whole, effect: withoutNames(whole.effect) } : whole
  const { effect = {}, path } = source
  const effectClass = classOf(context, source)
  const repeat = repeatOf(effect, effectClass)
  if (!source.serves) checkContradictions(context, source, effectClass, repeat)
  warnOfDefault(context, source)
  const keyed = keyedOf(context, effect, path)
  const identity = identityOf(context, source, effectClass)
  const { requests, ...named } = resolveNamed(context, source, repeat)
  const rule: EffectRule = {
    class: effectClass,
    determinism: effect.determinism ?? determinismOf(repeat),
    repeat,
    keyRequired: effect.key === 'required' || effect.idempotency === 'key-required',
    ...(keyed === undefined || repeat !== 'keyed' ? {} : { keyed }),
    ...(identity === undefined ? {} : { identity }),
    refusedOn: [...new Set(effect.refused_on ?? REFUSED_ON)].sort((a, b) => a - b),
    ...named,
  }
  return { rule, requests }
}

/** Its own send is neither prepared, asked about nor undone, and is about no input of a caller. */
function withoutNames(effect: EffectDeclaration | undefined): EffectDeclaration | undefined {
  if (effect === undefined) return undefined
  const { two_phase: _, status_query: __, compensation: ___, identity: ____, ...plain } = effect
  return plain
}

function classOf(context: ResolveContext, { effect, classes }: EffectSource): EffectClass {
  if (effect?.class !== undefined) return effect.class
  if (effect?.determinism === 'pure') return 'read-only'
  if (classes !== undefined) {
    if (classes.includes('admin')) return 'administrative'
    return isRead(classes) ? 'read-only' : 'irreversible'
  }
  if (effect === undefined && context.options.effectDefault === 'from-risk') {
    const { risk_level: risk = 'low' } = context.spec
    return risk === 'low' || risk === 'medium' ? 'read-only' : 'irreversible'
  }
  return 'irreversible'
}

function isRead(classes: readonly OperationClass[]): boolean {
  return classes.length === 1 && classes[0] === 'read'
}

function repeatOf(effect: EffectDeclaration, effectClass: EffectClass): Repeat {
  if (effectClass === 'read-only' || effect.determinism === 'pure') return 'read'
  if (effect.two_phase !== undefined) return 'two-phase'
  if (typeof effect.idempotency === 'object') return 'keyed'
  if (effect.idempotency === 'natural') return 'natural'
  // Seed 004: idempotent says itself that a repeat is harmless.
  if (effect.idempotency === undefined && effect.determinism === 'idempotent') return 'natural'
  return effect.status_query === undefined ? 'never' : 'query'
}

function determinismOf(repeat: Repeat): Determinism {
  return repeat === 'read' || repeat === 'natural' || repeat === 'keyed' ? 'idempotent' : 'side_effectful'
}

/** Two declarations that cannot both be true: neither is believed. */
function checkContradictions(
  { findings, options }: ResolveContext,
  { effect = {}, path, classes }: EffectSource,
  effectClass: EffectClass,
  repeat: Repeat,
): void {
  const { class: declared, determinism, idempotency } = effect
  const harmless = idempotency === 'natural' || typeof idempotency === 'object'
  if (declared === 'read-only' && determinism === 'side_effectful') {
    findings.error(
      [...path, 'determinism'],
      'side_effectful contradicts class read-only',
      'correct one of the two',
    )
  }
  if (determinism === 'pure' && effectClass !== 'read-only' && effectClass !== 'code-execution') {
    findings.error(
      [...path, 'determinism'],
      `pure contradicts class ${effectClass}`,
      'correct one of the two',
    )
  }
  if (determinism === 'side_effectful' && harmless) {
    findings.error(
      [...path, 'idempotency'],
      'contradicts determinism side_effectful',
      'write determinism: idempotent',
    )
  }
  if (determinism === 'idempotent' && idempotency === 'none') {
    findings.error(
      [...path, 'idempotency'],
      'none contradicts determinism idempotent',
      'correct one of the two',
    )
  }
  if (repeat === 'read' && effect.two_phase !== undefined) {
    findings.error([...path, 'two_phase'], 'has nothing to commit: the tool only reads', 'remove two_phase')
  }
  if (effect.two_phase !== undefined && idempotency === 'natural') {
    findings.error(
      [...path, 'two_phase'],
      'contradicts idempotency natural: what is harmless to repeat needs no commit',
      'correct one of the two',
    )
  }
  if (effect.two_phase !== undefined && typeof idempotency === 'object') {
    findings.warn(
      [...path, 'idempotency'],
      'is not used beside two_phase: a prepare is always sent with its key',
      'remove it',
    )
  }
  if (repeat === 'read' && effect.status_query !== undefined) {
    findings.warn(
      [...path, 'status_query'],
      'is never asked: the tool only reads, so it is called again instead',
      'remove it',
    )
  }
  if (
    classes !== undefined &&
    isRead(classes) !== (repeat === 'read') &&
    (isRead(classes) || declared === 'read-only')
  ) {
    findings.error(path, `contradicts operation_classes: [${classes.join(', ')}]`, 'correct one of the two')
  }
  const undoable = effect.compensation !== undefined && effect.compensation !== 'none'
  if (effectClass === 'reversible-write' && !undoable) {
    findings.error(
      [...path, 'compensation'],
      'is missing: reversible-write says that there is a way back',
      'name it, such as compensation: {tool: NAME}, or use class: irreversible',
    )
  }
  const lasting = declared === 'irreversible' || declared === 'financial-high-impact'
  if (lasting && effect.identity === undefined) {
    const message = `is missing: a second try with a new id would repeat this ${declared} effect`
    const fix = 'add identity: [the input fields that make two calls the same effect]'
    if (options.profile === 'production') findings.error([...path, 'identity'], message, fix)
    else findings.warn([...path, 'identity'], message, fix)
  }
}

/** S21: says which line earns a retry. */
function warnOfDefault({ findings, options }: ResolveContext, { effect, path, classes }: EffectSource): void {
  if (effect?.class !== undefined || effect?.determinism === 'pure') return
  if (
    effect === undefined &&
    ((classes !== undefined && isRead(classes)) || options.effectDefault === 'from-risk')
  )
    return
  const message =
    effect === undefined
      ? 'is not declared: it counts as irreversible, and after a timeout the outcome is unknown'
      : 'has no class: it counts as irreversible'
  const line = effect === undefined ? 'effect: {class: read-only}' : 'class: read-only'
  findings.warn(path, message, `add '${line}' if it only reads, else the class that it has`)
}

function keyedOf(
  context: ResolveContext,
  { idempotency }: EffectDeclaration,
  path: Path,
): EffectRule['keyed'] {
  if (typeof idempotency !== 'object') return undefined
  const { header = KEY_HEADER, retention, scope } = idempotency.keyed
  const at = [...path, 'idempotency', 'keyed']
  if (!HEADER_NAME.test(header) || RESERVED_HEADERS.has(header.toLowerCase())) {
    context.findings.error([...at, 'header'], `'${header}' cannot carry a key`, `use ${KEY_HEADER}`)
  }
  const retentionMs = context.duration([...at, 'retention'], retention, MEMORY_BOUNDS)
  if (retentionMs === undefined) return undefined
  return { header, retentionMs, ...(scope === 'tool' ? { scope } : {}) }
}

function identityOf(
  context: ResolveContext,
  source: EffectSource,
  effectClass: EffectClass,
): EffectRule['identity'] {
  const declared = source.effect?.identity
  if (declared === undefined) return undefined
  const at = [...source.path, 'identity']
  const { fields, window, on_repeat } = Array.isArray(declared)
    ? { fields: declared, window: undefined, on_repeat: undefined }
    : declared
  const base = Array.isArray(declared) ? at : [...at, 'fields']
  if (effectClass === 'read-only') {
    context.findings.error(at, 'has no meaning for a tool that only reads', 'remove identity')
  }
  const pointers = fields.flatMap((field, index) =>
    resolveField(context, field, [...base, index], source.inputSchema),
  )
  const windowMs = context.duration([...at, 'window'], window, MEMORY_BOUNDS) ?? IDENTITY_WINDOW_MS
  return { fields: [...new Set(pointers)].sort(), windowMs, onRepeat: on_repeat ?? 'block' }
}

/** The pointer of an input field; none, with an error, for one that no valid input can have. */
export function resolveField(
  { findings }: ResolveContext,
  field: string,
  path: Path,
  inputSchema: JsonObject | undefined,
): string[] {
  const found = toPointer(field)
  if (found === undefined) {
    findings.error(
      path,
      `'${field}' names no input field`,
      'write a JSON pointer such as /amount, or names with dots',
    )
    return []
  }
  if (inputSchema !== undefined && !mayHaveField(inputSchema, found)) {
    findings.error(
      path,
      `'${field}' is not in input_schema, so no input has it`,
      'correct the name, or add the field to input_schema',
    )
    return []
  }
  return [found]
}
