// Finds a raw credential in an envelope. A secret is named there, never carried (S2, row 8).
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { pointer } from '../../util/pointer.ts'

/** Names under which a credential is sent, in lower case without separators. */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set([
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'bearertoken',
  'authtoken',
  'apikey',
  'authorization',
  'password',
  'secret',
  'clientsecret',
  'secretvalue',
  'privatekey',
  'credential',
  'credentials',
])

/** Deeper nesting is no part of any envelope. */
const MAX_DEPTH = 8

/**
 * The path of the first credential in the envelope, outside `payload`: what a tool is given is its own business.
 * It reads names only, so nothing of the value can reach a message.
 */
export function findCredential(body: JsonObject, payload: readonly string[]): string | undefined {
  for (const [name, value] of Object.entries(body)) {
    if (payload.includes(name)) continue
    const found = search(name, value, [name], MAX_DEPTH)
    if (found !== undefined) return found
  }
  return undefined
}

function search(name: string, value: Json, path: readonly string[], depth: number): string | undefined {
  if (isCredential(name, value)) return pointer(path)
  if (depth === 0 || !isJsonObject(value)) return undefined
  for (const [inner, innerValue] of Object.entries(value)) {
    const found = search(inner, innerValue, [...path, inner], depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** An empty one carries nothing. */
function isCredential(name: string, value: Json): boolean {
  if (value === null || value === '' || typeof value === 'boolean') return false
  return CREDENTIAL_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ''))
}
