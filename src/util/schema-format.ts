// The formats of JSON Schema, each with a bound on the text it looks at: their expressions may backtrack.
import type { Format } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'

/** Nothing that has one of these formats is longer. The worst expression takes some milliseconds for this much. */
export const MAX_FORMAT_LENGTH = 2_048

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Base64 text may be of any length; this check never looks back. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text)
}

function bounded(format: Format): Format {
  if (typeof format === 'function') return (text: string) => text.length <= MAX_FORMAT_LENGTH && format(text)
  if (format instanceof RegExp) return (text: string) => text.length <= MAX_FORMAT_LENGTH && format.test(text)
  if (typeof format === 'object' && format.type !== 'number' && typeof format.validate === 'function') {
    return bounded(format.validate as (text: string) => boolean)
  }
  return format
}

export const SCHEMA_FORMATS: Readonly<Record<string, Format>> = Object.freeze({
  ...Object.fromEntries(Object.entries(fullFormats).map(([name, format]) => [name, bounded(format)])),
  byte: isBase64,
})

/** Whether a text was refused without a look at it. */
export function isTooLong(format: string, text: unknown): boolean {
  return format !== 'byte' && typeof text === 'string' && text.length > MAX_FORMAT_LENGTH
}
