// The output in a reply that is no envelope: JSON where it says or shows so, else text.

import type { Json, Violation } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { headerText } from './http-exchange.ts'
import type { Answered } from './http-post.ts'

type HttpOutput =
  | { readonly ok: true; readonly output: Json; readonly isJson: boolean }
  | { readonly ok: false; readonly message: string; readonly violations: readonly Violation[] }

/**
 * A reply that calls itself JSON must be JSON, by the rules of S3: to show a broken one as text would hide that it is
 * broken. One that says nothing is JSON if it can be read so; another one only if it is an object or an array, since
 * `42` in a text is a text.
 */
export function readHttpOutput(answered: Answered): HttpOutput {
  const { body, headers } = answered
  if (body.length === 0) return { ok: true, output: null, isJson: false }
  const [type = '', ...parameters] = (headerText(headers, 'content-type') ?? '').split(';')
  const essence = type.trim().toLowerCase()
  const saysJson = essence === 'application/json' || essence === 'text/json' || essence.endsWith('+json')
  if (saysJson || essence === '' || startsStructure(body)) {
    const parsed = parseStrictJson(body)
    if (parsed.ok) return { ok: true, output: parsed.value, isJson: true }
    if (saysJson)
      return {
        ok: false,
        message: 'the reply says that it is JSON and is not',
        violations: parsed.violations,
      }
  }
  const text = decodeText(body, charsetOf(parameters))
  return text === undefined
    ? refuse('the reply is neither JSON nor text in its character set')
    : { ok: true, output: text, isJson: false }
}

function refuse(message: string): HttpOutput {
  return { ok: false, message, violations: [{ path: '', message: 'must be JSON or text' }] }
}

/** Whether the first byte after white space is `{` or `[`. */
function startsStructure(body: Uint8Array): boolean {
  for (const byte of body) {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) continue
    return byte === 0x7b || byte === 0x5b
  }
  return false
}

function charsetOf(parameters: readonly string[]): string {
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=')
    if (name?.trim().toLowerCase() === 'charset') return value.trim().replace(/^"|"$/g, '')
  }
  return 'utf-8'
}

function decodeText(body: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body)
  } catch {
    // An unknown character set and bytes outside of it are the same to the caller.
    return undefined
  }
}
