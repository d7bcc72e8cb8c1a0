// How a done effect is undone (S29): an operation, another tool or an address, and what its input is made of.
import type { Compensation } from '../contract/effect.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { isPointer } from '../util/pointer.ts'
import { mayHaveField } from './input-field.ts'
import { type Ways, warnOfUnread } from './named-way.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { EffectSource } from './resolve-effect.ts'

const DEFAULT_OPERATION = 'invoke'

export function compensationOf(
  context: ResolveContext,
  { effect, inputSchema, self }: EffectSource,
  path: Path,
  way: Ways,
): Compensation | undefined {
  const declared = effect?.compensation
  if (declared === undefined || declared === 'none') return undefined
  if (typeof declared === 'string') {
    return { operation: way.operation('compensation', declared, path), requiresApproval: false }
  }
  warnOfUnread(context, declared, path, false)
  const { tool, input_map: inputMap } = declared
  if (tool !== undefined && declared.url !== undefined) {
    context.findings.error(path, 'must have exactly one of operation, tool or url', 'keep one')
  }
  if (tool !== undefined && tool === context.manifest.metadata.name) {
    const isSelf = (declared.operation ?? DEFAULT_OPERATION) === self
    // With an input of its own the same operation may well undo what it did.
    if (isSelf && inputMap === undefined) {
      const fix = 'name another tool or operation, or say what its input is: input_map'
      context.findings.error([...path, 'tool'], 'is the operation itself', fix)
    } else if (!isSelf) way.checkTold([...path, declared.operation === undefined ? 'tool' : 'operation'])
  }
  if (inputMap !== undefined) checkTemplate(context, inputMap, [...path, 'input_map'], inputSchema)
  return {
    ...(tool === undefined ? {} : { tool }),
    operation:
      tool === undefined
        ? way.operation('compensation', declared, path)
        : (declared.operation ?? DEFAULT_OPERATION),
    ...(inputMap === undefined ? {} : { inputMap }),
    requiresApproval: declared.requires_approval ?? false,
  }
}

/** Texts that begin with /input or /output are places in {input, output}; every other value is itself. */
function checkTemplate(
  context: ResolveContext,
  value: Json,
  path: Path,
  inputSchema: JsonObject | undefined,
): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value))
      checkTemplate(context, part, [...path, Array.isArray(value) ? Number(key) : key], inputSchema)
    return
  }
  if (typeof value !== 'string' || !/^\/(?:input|output)(?:\/|$)/.test(value)) return
  const { findings } = context
  const inside = value.slice('/input'.length)
  if (!isPointer(value)) {
    findings.error(path, `'${value}' is no JSON pointer`, 'write ~ as ~0')
  } else if (value.startsWith('/input/') && inputSchema !== undefined && !mayHaveField(inputSchema, inside)) {
    findings.error(path, `'${value}' is not in input_schema, so no input has it`, 'correct the name')
  }
}
