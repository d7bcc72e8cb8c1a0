// A value as compact JSON, as Go's encoding/json writes it when it leaves < > & as they are: keys in the order of their
// bytes.
import type { TextBuilder } from './budget.ts'
import { TemplateFault } from './fault.ts'
import { runesOf } from './go-text.ts'
import { fromJson, itemAt, sortedEntries, type Value } from './go-value.ts'

const MAX_DEPTH = 500
const SHORT: Readonly<Record<number, string>> = {
  8: '\\b',
  9: '\\t',
  10: '\\n',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
}

export function writeJson(out: TextBuilder, value: Value, depth: number = 0): void {
  const { literal } = value
  out.budget.spend(1)
  if (depth > MAX_DEPTH) throw new TemplateFault(`json writes a value of more than ${MAX_DEPTH} levels`)
  switch (value.kind) {
    case 'none':
    case 'nil':
      out.add('null', literal)
      return
    case 'bool':
    case 'int':
    case 'uint8':
      out.add(String(value.value), literal)
      return
    case 'float64':
      out.add(Object.is(value.value, -0) ? '-0' : String(value.value), literal)
      return
    case 'complex128':
      throw new TemplateFault('JSON has no complex numbers. Fix: give json another value')
    case 'string':
      out.add(quoteJson(value.value), literal)
      return
    case 'slice': {
      out.add('[', literal)
      for (let at = 0; at < value.length; at++) {
        if (at > 0) out.add(',', literal)
        writeJson(out, itemAt(value, at), depth + 1)
      }
      out.add(']', literal)
      return
    }
    case 'map': {
      let separator = '{'
      for (const { key, json } of sortedEntries(value.fields)) {
        out.add(`${separator}${quoteJson(key)}:`, literal)
        writeJson(out, fromJson(json), depth + 1)
        separator = ','
      }
      out.add(separator === '{' ? '{}' : '}', literal)
      return
    }
  }
}

function quoteJson(bytes: string): string {
  let quoted = '"'
  let at = 0
  for (const { code, size, isValid } of runesOf(bytes)) {
    const short = SHORT[code]
    const isHidden = code < 0x20 || code === 0x2028 || code === 0x2029 || !isValid
    const escaped = short ?? (isHidden ? `\\u${code.toString(16).padStart(4, '0')}` : undefined)
    quoted += escaped ?? bytes.slice(at, at + size)
    at += size
  }
  return `${quoted}"`
}
