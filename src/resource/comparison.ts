// Literal comparisons in manifests: which value fits which of them.
import type { Json } from '../util/json.ts'
import { isMailDomain } from '../util/mail-domain.ts'
import type { Comparison } from './resolved-tool.ts'

/** What to write for one that does not fit. */
export function comparedWith(op: Comparison): string {
  return COMPARED_WITH[op]
}

const DOMAINS = 'give it a list of domains in lower case, such as [example.com]'
const COMPARED_WITH: Readonly<Record<Comparison, string>> = Object.freeze({
  eq: 'give it a value',
  ne: 'give it a value',
  gt: 'give it a number or text',
  gte: 'give it a number or text',
  lt: 'give it a number or text',
  lte: 'give it a number or text',
  in: 'give it a list that is not empty',
  not_in: 'give it a list that is not empty',
  in_domain: DOMAINS,
  not_in_domain: DOMAINS,
  exists: 'leave it out, or write true or false',
})

/** Whether an input can be compared with such a value at all. */
export function isComparable(op: Comparison, value: Json | undefined): boolean {
  switch (op) {
    case 'eq':
    case 'ne':
      return value !== undefined
    case 'in':
    case 'not_in':
      return Array.isArray(value) && value.length > 0
    case 'in_domain':
    case 'not_in_domain':
      return (
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((one) => typeof one === 'string' && isMailDomain(one))
      )
    case 'exists':
      return value === undefined || typeof value === 'boolean'
    default:
      return typeof value === 'number' || typeof value === 'string'
  }
}
