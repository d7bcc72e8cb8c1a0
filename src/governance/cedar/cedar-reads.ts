// What of the context a Cedar policy reads: only that is handed to the engine.
import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'

export interface CedarReads {
  /** Attributes of `context`. */
  readonly context: ReadonlySet<string>
  /** Fields of `context.input`. */
  readonly fields: ReadonlySet<string>
  /** It takes the whole of it, in place of single fields. */
  readonly allOfContext: boolean
  readonly allOfInput: boolean
}

export function readsOf(conditions: PolicyJson['conditions']): CedarReads {
  const context = new Set<string>()
  const fields = new Set<string>()
  let allOfContext = false
  let allOfInput = false

  function visit(node: unknown): void {
    if (typeof node !== 'object' || node === null) return
    const chain = chainOf(node)
    if (chain === undefined) {
      for (const child of Object.values(node)) visit(child)
      return
    }
    const [attribute, field] = chain
    if (attribute === undefined) allOfContext = true
    else context.add(attribute)
    if (field !== undefined) fields.add(field)
    if (attribute === 'input' && field === undefined) allOfInput = true
  }

  for (const { body } of conditions) visit(body)
  return { context, fields, allOfContext, allOfInput: allOfContext || allOfInput }
}

export function readsInput({ context, allOfContext }: CedarReads): boolean {
  return allOfContext || context.has('input')
}

export function readsAttribute({ context, allOfContext }: CedarReads, attribute: string): boolean {
  return allOfContext || context.has(attribute)
}

export function readsField({ fields, allOfInput }: CedarReads, field: string): boolean {
  return allOfInput || fields.has(field)
}

/** The attributes of `context.a.b` and `context.a has b.c`; none for `context` itself, undefined for all else. */
function chainOf(node: object): readonly string[] | undefined {
  const { Var: variable, '.': access, has } = node as Partial<Record<string, unknown>>
  if (variable === 'context') return []
  const { left, attr } = (access ?? has ?? {}) as { left?: unknown; attr?: string | readonly string[] }
  if (typeof left !== 'object' || left === null || attr === undefined) return undefined
  const before = chainOf(left)
  return before === undefined ? undefined : [...before, ...(typeof attr === 'string' ? [attr] : attr)]
}
