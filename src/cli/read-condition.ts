// Conditions on an input as people write them on a command line: /amount<50, '/to in ["a","b"]', '/note exists'.
import type { GrantCondition } from '../client/approvals.ts'
import { isPointer } from '../util/pointer.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { usageError } from './cli-error.ts'

const OPS: Readonly<Record<string, string>> = Object.freeze({
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
  '=': 'eq',
  '==': 'eq',
  '!=': 'ne',
  in: 'in',
  not_in: 'not_in',
  in_domain: 'in_domain',
  not_in_domain: 'not_in_domain',
  exists: 'exists',
})
const SHAPE =
  /^(\/[^\s<>=!]*)(?:\s*(<=|>=|==|!=|<|>|=)\s*|\s+(in|not_in|in_domain|not_in_domain|exists)(?:\s+|$))(.*)$/s

export function readCondition(text: string): GrantCondition {
  const [, field = '', sign, word, rest = ''] = SHAPE.exec(text.trim()) ?? []
  const op = OPS[sign ?? word ?? '']
  if (op === undefined || !isPointer(field)) {
    throw usageError(
      `--where is '${text}', which is no condition`,
      `write a JSON pointer, a comparison and a value: '/amount<50', '/to="a@b.example"', '/to in ["a","b"]' or '/note exists'`,
    )
  }
  if (op === 'exists' && rest === '') return { field, op }
  const parsed = parseStrictJson(rest)
  if (rest === '' || (!parsed.ok && parsed.kind !== 'unreadable'))
    throw usageError(`--where is '${text}', which lacks a value`, 'write a value after the comparison')
  // As --set reads values: JSON where it is JSON, else text.
  return { field, op, value: parsed.ok ? parsed.value : rest }
}
