// A JSON Schema read once: its shape checked, its references resolved inside itself, its patterns compiled.
//
// Nothing is ever fetched. A schema that could make validation endless, or grow past all bounds, is refused here, so
// that the rest may follow references without counting.
import { checkJson } from './check-json.ts'
import type { Json, JsonObject, Violation } from './json.ts'
import { createLinearPattern, type LinearPattern } from './linear-pattern.ts'
import { clipPointer, pointer, readPointer, splitPointer } from './pointer.ts'
import { heldSchemas, isSchema, SCHEMA_KEYWORDS, type Schema } from './schema-keyword.ts'

export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** Paths into the schema. */
  readonly violations: readonly Violation[]

  constructor(violations: readonly Violation[]) {
    super(violations.map(({ path, message }) => `${path || '/'} ${message}`).join('; '))
    this.violations = violations
  }
}

export interface SchemaDocument {
  readonly root: Schema
  /** What the references of a node lead to. */
  targets(node: JsonObject): readonly Schema[]
  pattern(source: string): LinearPattern
}

const MAX_BYTES = 256 * 1024
const MAX_DEPTH = 64
/** Schemas that apply to one place at once, and references in a row. */
const MAX_IN_PLACE = 10_000
const MAX_CHAIN = 64
const MAX_VIOLATIONS = 100

/** Base of a schema that has no $id of its own; no real URI has this scheme. */
const LOCAL = 'schema://local/'

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const

/** Reads a copy, so that the schema may change or be shared later. Throws `SchemaError` with all that is wrong. */
export function readSchema(schema: unknown): SchemaDocument {
  const unfit = checkJson(schema, { maxDepth: MAX_DEPTH })
  if (unfit.length > 0) throw new SchemaError(unfit)
  const text = JSON.stringify(schema)
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new SchemaError([{ path: '', message: `is larger than ${MAX_BYTES} bytes` }])
  }
  const root = JSON.parse(text) as Json
  if (!isSchema(root))
    throw new SchemaError([{ path: '', message: 'must be a schema: an object or a boolean' }])
  const reader = new Reader(root)
  reader.read()
  if (reader.violations.length > 0) throw new SchemaError(reader.violations)
  const { patterns, targets } = reader
  return {
    root,
    targets: (node) => targets.get(node) ?? [],
    pattern(source) {
      const pattern = patterns.get(source)
      if (pattern === undefined) throw new Error(`pattern was not read: ${source}`)
      return pattern
    },
  }
}

interface Reference {
  readonly node: JsonObject
  readonly keyword: (typeof REFERENCES)[number]
  readonly base: string
  readonly path: readonly string[]
}

class Reader {
  readonly violations: Violation[] = []
  readonly patterns = new Map<string, LinearPattern>()
  readonly targets = new Map<JsonObject, Schema[]>()
  readonly #root: Schema
  readonly #paths = new Map<JsonObject, readonly string[]>()
  /** By absolute URI, without fragment for whole resources and with one for anchors. */
  readonly #named = new Map<string, JsonObject>()
  readonly #references: Reference[] = []
  #resources = 0

  constructor(root: Schema) {
    this.#root = root
  }

  read(): void {
    if (typeof this.#root === 'boolean') return
    this.#named.set(LOCAL, this.#root)
    this.#visit(this.#root, [], LOCAL)
    // A target may lie outside of every keyword and be read only now; it may bring references of its own.
    for (let next = this.#references.pop(); next !== undefined; next = this.#references.pop())
      this.#resolve(next)
    if (this.violations.length > 0) return
    const spans = new Map<JsonObject, Span>()
    for (const node of this.#paths.keys()) {
      this.#measure(node, spans, 0)
      if (this.violations.length > 0) return
    }
  }

  #refuse(path: readonly string[], message: string): void {
    if (this.violations.length < MAX_VIOLATIONS)
      this.violations.push({ path: clipPointer(pointer(path)), message })
  }

  #visit(node: Schema, path: readonly string[], outerBase: string): void {
    if (typeof node === 'boolean' || this.#paths.has(node)) return
    this.#paths.set(node, path)
    const base = this.#name(node, outerBase)
    for (const [name, value] of Object.entries(node)) {
      const keyword = SCHEMA_KEYWORDS.get(name)
      if (keyword === undefined) continue
      if (!keyword.fits(value)) {
        this.#refuse([...path, name], `must be ${keyword.expects}`)
        continue
      }
      if (name === 'pattern') this.#compile(value as string, [...path, name])
      if (name === 'patternProperties') {
        for (const source of Object.keys(value as JsonObject)) this.#compile(source, [...path, name, source])
      }
      for (const [rest, held] of heldSchemas(node, name, keyword)) this.#visit(held, [...path, ...rest], base)
    }
    for (const keyword of REFERENCES) {
      if (typeof node[keyword] === 'string') this.#references.push({ node, keyword, base, path })
    }
  }

  /** Notes the names of a node and gives the base for the references in it. */
  #name(node: JsonObject, outerBase: string): string {
    let base = outerBase
    if (typeof node.$id === 'string' && node.$id !== '') {
      base = URL.parse(node.$id, outerBase)?.href.replace(/#$/, '') ?? outerBase
      if (node !== this.#root) this.#resources++
      this.#named.set(base, node)
    }
    for (const anchor of [node.$anchor, node.$dynamicAnchor]) {
      if (typeof anchor === 'string') this.#named.set(`${base}#${anchor}`, node)
    }
    return base
  }

  #compile(source: string, path: readonly string[]): void {
    if (this.patterns.has(source)) return
    const pattern = createLinearPattern(source)
    if (typeof pattern === 'string') this.#refuse(path, pattern)
    else this.patterns.set(source, pattern)
  }

  #resolve({ node, keyword, base, path }: Reference): void {
    const reference = String(node[keyword])
    const at = [...path, keyword]
    // In one resource a dynamic reference has one possible target. Across resources it depends on the way there.
    if (keyword !== '$ref' && this.#resources > 0) {
      this.#refuse(at, `is not supported in a schema with a nested $id: use $ref`)
      return
    }
    const target = this.#find(reference, base)
    if (target === 'elsewhere') {
      this.#refuse(
        at,
        `refers to '${reference}', which is outside of this schema: nothing is fetched, copy it into $defs`,
      )
    } else if (target === undefined) {
      this.#refuse(at, `refers to '${reference}', which is not there`)
    } else {
      this.#visit(target.schema, target.path, target.base)
      this.targets.set(node, [...(this.targets.get(node) ?? []), target.schema])
    }
  }

  #find(
    reference: string,
    base: string,
  ): { schema: Schema; path: readonly string[]; base: string } | 'elsewhere' | undefined {
    const url = URL.parse(reference, base)
    if (url === null) return 'elsewhere'
    const [whole = '', fragment = ''] = url.href.split('#', 2)
    const resource = this.#named.get(whole)
    if (resource === undefined) return 'elsewhere'
    const start = this.#paths.get(resource) ?? []
    if (fragment === '') return { schema: resource, path: start, base: whole }
    if (!fragment.startsWith('/')) {
      const named = this.#named.get(`${whole}#${fragment}`)
      return named && { schema: named, path: this.#paths.get(named) ?? start, base: whole }
    }
    const rest = decodeFragment(fragment)
    const found = rest === undefined ? undefined : readPointer(resource, rest)
    return isSchema(found)
      ? { schema: found, path: [...start, ...(splitPointer(rest ?? '') ?? [])], base: whole }
      : undefined
  }

  /** How many schemas apply where this one does, and how long the longest way to one is. Also finds endless ones. */
  #measure(node: Schema, spans: Map<JsonObject, Span>, depth: number): Span {
    if (typeof node === 'boolean') return { count: 1, chain: 1 }
    const known = spans.get(node)
    if (known === ENDLESS || depth > MAX_CHAIN) {
      const why =
        known === ENDLESS
          ? 'applies itself to the same value without end'
          : `chains more than ${MAX_CHAIN} schemas`
      this.#refuse(this.#paths.get(node) ?? [], `${why}: put a property or an item between them`)
      return ENDLESS
    }
    if (known !== undefined) return known
    spans.set(node, ENDLESS)
    let count = 1
    let chain = 0
    for (const next of this.#inPlace(node)) {
      const span = this.#measure(next, spans, depth + 1)
      if (this.violations.length > 0) return ENDLESS
      count += span.count
      chain = Math.max(chain, span.chain)
    }
    const span = { count, chain: chain + 1 }
    if (span.count > MAX_IN_PLACE)
      this.#refuse(this.#paths.get(node) ?? [], `applies more than ${MAX_IN_PLACE} schemas to one value`)
    if (span.chain > MAX_CHAIN)
      this.#refuse(this.#paths.get(node) ?? [], `chains more than ${MAX_CHAIN} schemas`)
    spans.set(node, span)
    return span
  }

  *#inPlace(node: JsonObject): Iterable<Schema> {
    yield* this.targets.get(node) ?? []
    for (const [name, keyword] of SCHEMA_KEYWORDS) {
      if (keyword.inPlace) for (const [, held] of heldSchemas(node, name, keyword)) yield held
    }
  }
}

interface Span {
  readonly count: number
  readonly chain: number
}

/** Marks a node that is still being measured: coming back to it means a circle. */
const ENDLESS: Span = Object.freeze({ count: Number.POSITIVE_INFINITY, chain: Number.POSITIVE_INFINITY })

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}
