// The schema of one kind as editors use it: the declared shape, with every other spelling that is read, and what each
// field means.
import { rowsOf, split } from './alias.ts'
import { API_VERSIONS } from './document.ts'
import { aliasForms, type Draft, withNotation, withRule } from './editor-notation.ts'
import type { FieldRow } from './field-row.ts'
import { FIELDS } from './field-table.ts'
import type { AnyKind } from './kinds.ts'
import { NAME, NAMESPACE } from './name.ts'

/** A block that the field table of Tool describes at another place. */
interface Elsewhere {
  readonly at: string
  readonly as: string
}

/** A required field that may be written in other ways, and so at other places. */
interface Need {
  readonly path: string
  readonly aliases: readonly string[]
}

const TOOL_ROWS: ReadonlyMap<string, FieldRow> = new Map(FIELDS.map((row) => [row.path, row]))

export function editorKind(kind: AnyKind): Draft {
  const table = rowsOf(kind.fields)
  const rows = new Map(table.map((row) => [row.path, row]))
  const places = new Map<string, Draft>()
  const needs: Need[] = []

  function describe(path: string, elsewhere: Elsewhere | undefined): { readonly description?: string } {
    const there = elsewhere && TOOL_ROWS.get(elsewhere.as + path.slice(elsewhere.at.length))
    const row = rows.get(path) ?? there
    return row === undefined ? {} : { description: textOf(row) }
  }

  function place(node: Draft, path: string, elsewhere: Elsewhere | undefined): Draft {
    const rule = path === 'kind' ? 'lower' : rows.get(path)?.reads
    const shape = withRule(rule, convert(node, path, elsewhere))
    const draft = { ...describe(path, elsewhere), ...shape, ...headOf(path) }
    places.set(path, draft)
    return draft
  }

  function convert(node: Draft, path: string, outer: Elsewhere | undefined): Draft {
    const { expected, sameAs, notation, required, ...kept } = node
    const elsewhere = typeof sameAs === 'string' ? { at: path, as: sameAs } : outer
    const draft: Draft = { ...kept }
    const join = (name: string) => (path === '' ? name : `${path}.${name}`)
    const each = (parts: Record<string, Draft>, pathOf: (name: string) => string) =>
      Object.fromEntries(
        Object.entries(parts).map(([name, part]) => [name, place(part, pathOf(name), elsewhere)]),
      )
    if (node.properties !== undefined) draft.properties = each(node.properties, join)
    if (node.patternProperties !== undefined)
      draft.patternProperties = each(node.patternProperties, () => join('*'))
    if (node.items !== undefined) draft.items = place(node.items, `${path}[]`, elsewhere)
    if (node.anyOf !== undefined) draft.anyOf = node.anyOf.map((one) => convert(one, path, elsewhere))
    if (required !== undefined) {
      draft.required = required.filter((name) => {
        const aliases = (rows.get(join(name))?.aliases ?? []).map((alias) => alias.path)
        if (aliases.length > 0) needs.push({ path: join(name), aliases })
        return aliases.length === 0
      })
    }
    return withNotation(notation, expected, draft)
  }

  const root = convert(kind.schema as unknown as Draft, '', undefined)
  for (const row of table) {
    const field = places.get(row.path)
    for (const alias of row.aliases) {
      if (field === undefined) throw new TypeError(`${kind.name} has no field ${row.path}`)
      const forms = [field, ...aliasForms(alias.as, field)]
      addAlias(root, split(alias.path), {
        description: `Read as ${row.path}. ${row.description}`,
        doNotSuggest: true,
        ...(forms.length === 1 ? { allOf: forms } : { anyOf: forms }),
      })
    }
  }
  for (const need of needs) addNeed(root, need)
  return root
}

/** What is checked of the head of a document beside its shape. */
function headOf(path: string): Draft {
  switch (path) {
    case 'apiVersion':
      return { enum: [...API_VERSIONS] }
    case 'metadata.name':
      return { pattern: NAME.source }
    case 'metadata.namespace':
      return { pattern: NAMESPACE.source }
    default:
      return {}
  }
}

function textOf({ description, default: fallback, enforced }: FieldRow): string {
  const said = [description]
  if (fallback !== '') said.push(`Default: ${fallback}.`)
  if (enforced !== 'now' && enforced !== 'descriptive') said.push(`Enforced: ${enforced}.`)
  return said.join(' ')
}

function addAlias(root: Draft, segments: readonly string[], alias: Draft): void {
  const name = segments.at(-1) ?? ''
  const parent = segments.slice(0, -1).reduce(stepInto, root)
  const properties = objectOf(parent).properties ?? {}
  objectOf(parent).properties = properties
  const there = properties[name]
  // One name, two meanings: which one counts is said by the form of the value.
  const { doNotSuggest, description } = there ?? {}
  properties[name] = there === undefined ? alias : { description, doNotSuggest, anyOf: [there, alias] }
}

/** A container that only aliases have is made. */
function stepInto(draft: Draft, segment: string): Draft {
  const object = objectOf(draft)
  if (segment === '[]') return draft.items ?? draft
  if (segment === '*') return Object.values(object.patternProperties ?? {})[0] ?? draft
  const properties = object.properties ?? {}
  object.properties = properties
  const made = { type: 'object', properties: {}, additionalProperties: false, doNotSuggest: true }
  const there = properties[segment] ?? made
  properties[segment] = there
  return there
}

/** The branch of a union that has fields; the whole where it is none. */
function objectOf(draft: Draft): Draft {
  return draft.anyOf?.find((branch) => branch.type === 'object') ?? draft
}

/** Required at the nearest place that all spellings have in common. Containers between are needed no more by themselves. */
function addNeed(root: Draft, { path, aliases }: Need): void {
  const ways = [path, ...aliases].map(split)
  const [own = [], ...others] = ways
  let shared = 0
  while (shared < own.length - 1 && others.every((way) => way[shared] === own[shared])) shared++
  const holder = objectOf(own.slice(0, shared).reduce(stepInto, root))
  const head = own[shared]
  if (shared < own.length - 1) {
    // An optional container may be left out with all that it demands: nothing can be said from outside.
    if (head === undefined || holder.required?.includes(head) !== true) return
    holder.required = holder.required.filter((name) => name !== head)
  }
  const [canonical, ...spelled] = ways.map((way) => present(way.slice(shared)))
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  const demand = { if: { not: { anyOf: spelled } }, then: canonical }
  holder.allOf = [...(holder.allOf ?? []), demand]
}

function present([head = '', ...rest]: readonly string[]): Draft {
  return rest.length === 0
    ? { required: [head] }
    : { required: [head], properties: { [head]: present(rest) } }
}
