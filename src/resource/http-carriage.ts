// How the input of an http tool travels: in the body as JSON, form or text, or in the query of the address.
import { isJsonObject, type Json, type Violation } from '../util/json.ts'
import { pointer } from '../util/pointer.ts'
import type { ResolvedOperation, ResolvedTool } from './resolved-tool.ts'

export type Carriage = 'json' | 'form' | 'text' | 'query'

/** Longer ones are cut or refused by much of what stands between here and a tool. */
export const MAX_QUERY_BYTES = 16_384

/** The media type without its parameters. */
export function essenceOf(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase()
}

export function carriageOf({ http }: Pick<ResolvedTool, 'http'>): Carriage {
  if (http === undefined) return 'json'
  if (http.method === 'GET' || http.method === 'DELETE') return 'query'
  const essence = essenceOf(http.contentType)
  if (essence === 'application/json' || essence.endsWith('+json')) return 'json'
  return essence === 'application/x-www-form-urlencoded' ? 'form' : 'text'
}

/** What of an input cannot travel in the way that the tool declares. */
export function unfitForHttp(
  tool: Pick<ResolvedTool, 'http' | 'endpoint' | 'type'>,
  operation: ResolvedOperation,
  input: Json | undefined,
): readonly Violation[] {
  if (tool.type !== 'http' || tool.http === undefined || operation.request !== undefined) return []
  const carriage = carriageOf(tool)
  if (carriage === 'json' || input === undefined) return []
  if (carriage === 'text') {
    return typeof input === 'string' ? [] : [{ path: '', message: `must be text: it is sent as it is` }]
  }
  // Text without a schema is the raw input of seed 000: a form that is written already.
  if (carriage === 'form' && typeof input === 'string') return []
  const where = carriage === 'query' ? 'the query of the address' : 'a form'
  if (!isJsonObject(input)) return [{ path: '', message: `must be an object: its fields go into ${where}` }]
  const fixed = carriage === 'query' ? URL.parse(tool.endpoint ?? '')?.searchParams : undefined
  const violations = Object.entries(input).flatMap(([name, value]): Violation[] => {
    const path = pointer([name])
    if (value === null || typeof value === 'object')
      return [{ path, message: `must be a text, a number or a boolean: it goes into ${where}` }]
    // The tool would read one of the two, and policy the other.
    return fixed?.has(name) === true ? [{ path, message: 'is set by the endpoint of the tool' }] : []
  })
  if (violations.length === 0 && carriage === 'query' && pairsOf(input).length > MAX_QUERY_BYTES)
    return [{ path: '', message: `is longer than the ${MAX_QUERY_BYTES} bytes that a query takes` }]
  return violations
}

/** Top-level fields as `name=value&…`, for a query or a form. */
export function pairsOf(input: Readonly<Record<string, Json>>): string {
  return Object.entries(input)
    .map(([name, value]) => `${encoded(name)}=${encoded(String(value))}`)
    .join('&')
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
