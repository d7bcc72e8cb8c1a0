// One text for equal JSON values (RFC 8785), and hashes over several parts.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Json } from './json.ts'

export function canonicalJson(value: Json): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError(`no JSON value: ${typeof value}`)
  return text
}

/** Hex SHA-256 over the parts; where one part ends and the next begins is part of what is hashed. */
export function sha256Hex(...parts: readonly (string | Uint8Array)[]): string {
  return hash('sha256', framed(parts), 'hex')
}

export function sha256Base64url(...parts: readonly (string | Uint8Array)[]): string {
  return hash('sha256', framed(parts), 'base64url')
}

/**
 * Each part as its length in bytes, a colon, and its bytes, so that ('ab', 'c') and ('a', 'bc') differ. Text is UTF-8.
 * Joined first, because one call of `hash` over the whole costs half of a hash object that is fed part by part.
 */
function framed(parts: readonly (string | Uint8Array)[]): string | Uint8Array {
  let text = ''
  for (const part of parts) {
    if (typeof part !== 'string') return framedBytes(parts)
    text += `${Buffer.byteLength(part)}:${part}`
  }
  return text
}

function framedBytes(parts: readonly (string | Uint8Array)[]): Uint8Array {
  const pieces: Uint8Array[] = []
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    pieces.push(Buffer.from(`${bytes.byteLength}:`), bytes)
  }
  return Buffer.concat(pieces)
}
