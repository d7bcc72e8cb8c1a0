// The operations of a tool, each with what it says itself and what it takes from the tool (S4).

import type { EffectClass } from '../contract/effect.ts'
import type { JsonObject } from '../util/json.ts'
import { compileSchema, SchemaError } from '../util/json-schema.ts'
import { splitPointer } from '../util/pointer.ts'
import { comparedWith, isComparable } from './comparison.ts'
import { internalOperation } from './internal-operation.ts'
import { isNamedBy } from './named-operation.ts'
import type { NamedRequests } from './named-way.ts'
import type { Path } from './problem.ts'
import { PAUSE_BOUNDS, type ResolveContext, TIMEOUT_BOUNDS } from './resolve-context.ts'
import { resolveEffect, resolveField } from './resolve-effect.ts'
import type {
  ApprovalTrigger,
  OperationClass,
  ResolvedOperation,
  RetryPolicy,
  RiskLevel,
} from './resolved-tool.ts'
import type { OperationDeclaration, ToolSpec } from './tool.ts'

/** What a tool without `operations` has. */
const DEFAULT_OPERATION = 'invoke'
const TIMEOUT_MS = 30_000
const MAX_BACKOFF_MS = 30_000
const MAX_ATTEMPTS = 100

/** S46: nobody has said yet what it does. The comparison cannot be made with any input, and so it always asks. */
const UNLABELLED: ApprovalTrigger = Object.freeze({
  field: '',
  op: 'in',
  reason: 'nobody has labelled this MCP tool yet: what it does is not known',
})

export function resolveOperations(context: ResolveContext): Record<string, ResolvedOperation> {
  const { spec } = context
  const shared = resolveShared(context)
  const resolved: Record<string, ResolvedOperation> = {}
  const declared = spec.operations
  const internal: Record<string, ResolvedOperation> = {}
  const add = (name: string, operation: OperationDeclaration, path: Path) => {
    const { requests, ...own } = resolveOperation(context, shared, name, operation, path)
    resolved[name] = own.operation
    for (const [key, request] of Object.entries(requests))
      internal[key] ??= internalOperation(key, own.operation, request)
  }
  if (declared === undefined) add(DEFAULT_OPERATION, {}, [])
  for (const [name, operation] of Object.entries(declared ?? {})) {
    add(name, operation, ['spec', 'operations', name])
  }
  return { ...resolved, ...internal }
}

/** What all operations take over, checked once. */
interface Shared {
  readonly inputSchema: JsonObject | undefined
  readonly outputSchema: JsonObject | undefined
  readonly timeoutMs: number
  readonly timeoutMaxMs: number | undefined
  readonly retry: RetryPolicy
  readonly harmlessErrors: readonly string[]
}

function resolveShared(context: ResolveContext): Shared {
  const { spec } = context
  const defaults: RetryPolicy = { maxAttempts: 1, backoffMs: 0, maxBackoffMs: MAX_BACKOFF_MS, jitter: 'none' }
  return {
    inputSchema: resolveSchema(context, spec.input_schema, ['spec', 'input_schema'], true),
    outputSchema: resolveSchema(context, spec.output_schema, ['spec', 'output_schema'], false),
    timeoutMs:
      context.duration(['spec', 'runtime', 'timeout'], spec.runtime?.timeout, TIMEOUT_BOUNDS) ?? TIMEOUT_MS,
    timeoutMaxMs: context.duration(
      ['spec', 'limits', 'timeout_max'],
      spec.limits?.timeout_max,
      TIMEOUT_BOUNDS,
    ),
    retry: resolveRetry(context, spec.runtime?.retry, ['spec', 'runtime', 'retry'], defaults),
    harmlessErrors: harmlessOf(Array.isArray(spec.errors) ? spec.errors : []),
  }
}

function resolveOperation(
  context: ResolveContext,
  shared: Shared,
  name: string,
  operation: OperationDeclaration,
  path: Path,
): { readonly operation: ResolvedOperation; readonly requests: NamedRequests } {
  const { spec, findings } = context
  const at = path.length === 0 ? ['spec'] : path
  const inputSchema =
    resolveSchema(context, operation.input_schema, [...at, 'input_schema'], true) ??
    (operation.input_schema === undefined ? shared.inputSchema : undefined)
  const outputSchema =
    resolveSchema(context, operation.output_schema, [...at, 'output_schema'], false) ??
    (operation.output_schema === undefined ? shared.outputSchema : undefined)
  const classes = operation.operation_classes ?? spec.operation_classes
  const effect = operation.effect ?? spec.effect
  const alone = Object.keys(spec.operations ?? {}).length <= 1
  const { rule, requests } = resolveEffect(context, {
    effect,
    path:
      operation.effect === undefined && spec.effect !== undefined ? ['spec', 'effect'] : [...at, 'effect'],
    classes: classes === undefined ? undefined : distinct(classes),
    inputSchema,
    owner: operation.effect === undefined ? '' : name,
    self: operation.effect === undefined && !alone ? undefined : name,
    // The only one there is serves nobody: to name it is a mistake, and is said.
    serves: operation.effect === undefined && !alone && isNamedBy(spec.effect, name),
  })
  const timeoutMs =
    context.duration([...at, 'timeout'], operation.timeout, TIMEOUT_BOUNDS) ?? shared.timeoutMs
  const timeoutMaxMs =
    context.duration([...at, 'limits', 'timeout_max'], operation.limits?.timeout_max, TIMEOUT_BOUNDS) ??
    shared.timeoutMaxMs
  if (timeoutMaxMs !== undefined && timeoutMs > timeoutMaxMs) {
    const where = operation.timeout === undefined ? ['spec', 'runtime', 'timeout'] : [...at, 'timeout']
    findings.error(
      where,
      'is longer than limits.timeout_max, which bounds all attempts',
      'shorten it, or raise limits.timeout_max',
    )
  }
  refuseOwnLimits(context, operation, at)
  const resolved: ResolvedOperation = {
    name,
    description: operation.description ?? spec.description ?? '',
    ...(inputSchema === undefined ? {} : { inputSchema }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    classes:
      classes === undefined ? defaultClasses(effect?.class, spec.risk_level ?? 'low') : distinct(classes),
    effect: rule,
    timeoutMs,
    ...(timeoutMaxMs === undefined ? {} : { timeoutMaxMs }),
    retry: resolveRetry(context, operation.retry, [...at, 'retry'], shared.retry),
    approvalTriggers: [
      ...(spec.mcp !== undefined && spec.mcp.labelled !== true ? [UNLABELLED] : []),
      ...resolveTriggers(context, spec.approval_triggers, ['spec', 'approval_triggers'], inputSchema),
      ...resolveTriggers(context, operation.approval_triggers, [...at, 'approval_triggers'], inputSchema),
    ],
    harmlessErrors: distinct([...shared.harmlessErrors, ...harmlessOf(operation.errors ?? [])]),
  }
  return { operation: resolved, requests }
}

/** For permission only. A declared effect says what the operation is; else seed 002's reading of the risk (S21). */
function defaultClasses(effectClass: EffectClass | undefined, risk: RiskLevel): OperationClass[] {
  if (effectClass === 'read-only') return ['read']
  if (effectClass === 'administrative') return ['admin']
  if (effectClass !== undefined) return ['write']
  return risk === 'low' || risk === 'medium' ? ['read'] : ['write']
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}

function harmlessOf(errors: readonly { readonly code: string; readonly effect?: string }[]): string[] {
  return errors.filter((error) => error.effect === 'none').map((error) => error.code)
}

/** Compiled here only to be refused at apply instead of at the first call (S50: patterns that are not linear, too). */
function resolveSchema(
  context: ResolveContext,
  schema: ToolSpec['input_schema'],
  path: Path,
  closed: boolean,
): JsonObject | undefined {
  if (schema === undefined) return undefined
  if (typeof schema === 'string') {
    context.refuseCalls(
      path,
      `the schema is in the file '${schema}', which was not read`,
      'write the schema here',
    )
    return undefined
  }
  try {
    compileSchema(schema, { closed })
    return schema
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    for (const violation of error.violations) {
      context.findings.error([...path, ...(splitPointer(violation.path) ?? [])], violation.message)
    }
    return undefined
  }
}

function resolveRetry(
  context: ResolveContext,
  retry: OperationDeclaration['retry'],
  path: Path,
  base: RetryPolicy,
): RetryPolicy {
  const attempts = retry?.max_attempts
  if (attempts !== undefined && (attempts < 1 || attempts > MAX_ATTEMPTS)) {
    context.findings.error(
      [...path, 'max_attempts'],
      `must be 1 to ${MAX_ATTEMPTS}; it is ${attempts}`,
      'write 1 for no retry',
    )
  }
  return {
    maxAttempts: attempts ?? base.maxAttempts,
    backoffMs: context.duration([...path, 'backoff'], retry?.backoff, PAUSE_BOUNDS) ?? base.backoffMs,
    maxBackoffMs:
      context.duration([...path, 'max_backoff'], retry?.max_backoff, PAUSE_BOUNDS) ?? base.maxBackoffMs,
    jitter: retry?.jitter ?? base.jitter,
  }
}

function resolveTriggers(
  context: ResolveContext,
  triggers: ToolSpec['approval_triggers'],
  path: Path,
  inputSchema: JsonObject | undefined,
): ApprovalTrigger[] {
  return (triggers ?? []).flatMap((trigger, index) => {
    const at = [...path, index]
    const { op, value, reason } = trigger
    if (!isComparable(op, value)) {
      context.findings.error([...at, 'value'], `does not fit op ${op}`, comparedWith(op))
      return []
    }
    // A tool's trigger may be meant for one of its operations only; with the others it cannot be judged, and asks.
    const shared = path.length === 2 && context.spec.operations !== undefined
    return resolveField(context, trigger.field, [...at, 'field'], shared ? undefined : inputSchema).map(
      (field) => ({
        field,
        op,
        ...(value === undefined ? {} : { value }),
        ...(reason === undefined ? {} : { reason }),
      }),
    )
  })
}

/** Limits are counted per tool; one that is declared for an operation alone would not hold. */
function refuseOwnLimits(context: ResolveContext, operation: OperationDeclaration, path: Path): void {
  for (const name of Object.keys(operation.limits ?? {})) {
    if (name === 'timeout_max') continue
    context.refuseCalls(
      [...path, 'limits', name],
      'limits are counted per tool, not per operation',
      'declare it under spec.limits',
    )
  }
}
