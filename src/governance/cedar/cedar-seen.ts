// What a clause of a Cedar policy saw: the values of what it reads, in words, where they are simple.
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { Request } from './cedar-engine.ts'

/** A variable with its attributes: `context.input.amount`, `context.spend["payments#0"]`, `action`. */
interface Read {
  readonly text: string
  readonly variable: string
  readonly attributes: readonly string[]
}

const MAX_SHOWN = 60
/** A text is taken whole, so that nothing is found in it; what is called is no attribute. */
const READ =
  /"(?:[^"\\]|\\[\s\S])*"|(?<!\.\s*|\bhas\s+)\b(principal|action|resource|context)\b(?!\s*:)((?:\s*\.\s*[A-Za-z_]\w*\b(?!\s*\()|\s*\[\s*"[^"\\]*"\s*\])*)/g

export function readsIn(clause: string): readonly Read[] {
  const found = new Map<string, Read>()
  for (const { 0: text, 1: variable, 2: path = '' } of clause.matchAll(READ)) {
    if (variable === undefined) continue
    const attributes = [...path.matchAll(/"([^"]*)"|\w+/g)].map(([whole, quoted]) => quoted ?? whole)
    found.set(text, { text, variable, attributes })
  }
  return [...found.values()]
}

/** Whether it may read a field of the input. */
export function mayReadInput({ variable, attributes }: Read): boolean {
  return variable === 'context' && (attributes[0] ?? 'input') === 'input'
}

/** `context.input.amount was 50`, for each thing that it reads. */
export function seenBy(reads: readonly Read[], request: Request): readonly string[] {
  return reads.flatMap(({ text, variable, attributes }) => {
    const value = readValue(request, variable, attributes)
    return value === undefined ? [] : [`${text} was ${value}`]
  })
}

/** Undefined for what is not simple. */
function readValue(request: Request, variable: string, attributes: readonly string[]): string | undefined {
  const { context, entities } = request
  const uid = { principal: request.principal, action: request.action, resource: request.resource }[variable]
  if (uid !== undefined && attributes.length === 0) return entityText(uid)
  const attrs = entities.find((one) => one.uid === uid)?.attrs
  let value: CedarValueJson | undefined = uid === undefined ? context : attrs
  for (const attribute of attributes) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    value = Object.hasOwn(value, attribute) ? (value as Record<string, CedarValueJson>)[attribute] : undefined
    if (value === undefined) return 'not there'
  }
  return simple(value)
}

function simple(value: CedarValueJson | undefined): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return shorten(JSON.stringify(value), MAX_SHOWN)
  if (typeof value !== 'object' || value === null || !('__extn' in value)) return undefined
  const extension = value.__extn
  return typeof extension === 'object' && extension !== null && 'arg' in extension
    ? String(extension.arg).replace(/^(-?\d+\.\d+?)0+$/, '$1')
    : undefined
}

export function shorten(text: string, most: number): string {
  const characters = Array.from(text)
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}

function entityText(uid: Request['principal']): string {
  const { type, id } = '__entity' in uid ? uid.__entity : uid
  return `${type}::${JSON.stringify(id)}`
}
