// Query parameters: known ones only, each at most once unless it is a list.
import { Refusal } from './refusal.ts'

/** `namespace` is read by auth and allowed everywhere. What is in `lists` may be repeated; see `readList`. */
export function readQuery<Name extends string>(
  query: unknown,
  names: readonly Name[],
  lists: readonly string[] = [],
): Partial<Readonly<Record<Name, string>>> {
  const given = query as Readonly<Record<string, unknown>>
  const violations: { path: string; message: string }[] = []
  for (const [name, value] of Object.entries(given)) {
    if (lists.includes(name)) continue
    if (name !== 'namespace' && !(names as readonly string[]).includes(name)) {
      const known = [...names, ...lists, 'namespace'].join(', ')
      violations.push({ path: `/query/${name.slice(0, 64)}`, message: `is not known here; known: ${known}` })
    } else if (typeof value !== 'string') {
      violations.push({ path: `/query/${name}`, message: 'is given more than once' })
    }
  }
  if (violations.length > 0) throw refuseQuery(violations)
  return given as Partial<Readonly<Record<Name, string>>>
}

/** Every value of a parameter that may be repeated, each of them one of `allowed`; undefined where it is absent. */
export function readList<Value extends string>(
  query: unknown,
  name: string,
  allowed: readonly Value[],
): readonly Value[] | undefined {
  const value = (query as Readonly<Record<string, unknown>>)[name]
  if (value === undefined) return undefined
  const values = [...new Set(Array.isArray(value) ? value : [value])]
  if (values.some((one) => !(allowed as readonly unknown[]).includes(one))) {
    throw refuseQuery([{ path: `/query/${name}`, message: `is none of ${allowed.join(', ')}` }])
  }
  return values as Value[]
}

export function readFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw refuseQuery([{ path: `/query/${name}`, message: 'is neither true nor false' }])
}

export function readCount(name: string, value: string | undefined, fallback: number, max: number): number {
  if (value === undefined) return fallback
  const count = /^[0-9]{1,9}$/.test(value) ? Number(value) : 0
  if (count >= 1 && count <= max) return count
  throw refuseQuery([{ path: `/query/${name}`, message: `is not a whole number from 1 to ${max}` }])
}

export function refuseQuery(
  violations: readonly { readonly path: string; readonly message: string }[],
): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    message: 'The query string is not valid.',
    details: { violations: violations.map(({ path, message }) => ({ path, message })) },
  })
}
