// Gathers the conditions of a list, and their values.
import { sha256Hex } from '../../util/canonical.ts'

export interface Where {
  /** A `?` in the term becomes the number of its value. */
  add(term: string, value?: unknown): void
  /** There is one statement for each combination of filters. */
  query(name: string, select: string, order: string, limit: number): [string, string, unknown[]]
}

export function createWhere(): Where {
  const terms: string[] = []
  const values: unknown[] = []
  return {
    add(term, value) {
      if (term.includes('?')) values.push(value)
      terms.push(term.replace('?', `$${values.length}`))
    },
    query(name, select, order, limit) {
      const text = `${select} where ${terms.join(' and ')} ${order} limit $${values.length + 1}`
      return [`${name}:${sha256Hex(text).slice(0, 16)}`, text, [...values, limit]]
    },
  }
}
